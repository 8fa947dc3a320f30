//===- ThresholdSearch.cpp - Find the threshold of top-k and top-p --------===//
//
// Thresholds are found bit by bit, from the highest bit on: nonnegative floats
// have the same order as their bits. A search is a loop around a reduction; its
// bound is a scalar that is uniform in the vCTA.
//
//===----------------------------------------------------------------------===//

#include "passes/tiling/decompose/Decompose.h"
#include "passes/tiling/tasks/TaskBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// All bits except the sign, which is zero.
static constexpr int64_t kBits = 31;

namespace {
/// Searches one row, a tensor of rank one.
class RowSearch {
public:
  RowSearch(OpBuilder &builder, Location loc, Value row)
      : builder(builder), loc(loc), row(row),
        type(cast<RankedTensorType>(row.getType())),
        zero(createNumber(builder, loc, type.getElementType(), 0)) {}

  /// Returns the bits of the k-th largest number.
  Value findCount(Value k);
  /// Returns the bits of the largest threshold for which the numbers that reach
  /// both the threshold and `least` have a sum of at least `target`.
  Value findSum(Value least, Value target);
  /// Returns the sum of the numbers whose bits are at least `least`.
  Value sumFrom(Value least);

private:
  Value createWord(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value reduceFrom(Value least, Value start, BodyFn combine);
  Value search(function_ref<Value(Value trial)> keeps);

  OpBuilder &builder;
  Location loc;
  Value row;
  RankedTensorType type;
  Value zero;
};
} // namespace

/// Reduces the row. `combine` takes a number, a flag that tells if its bits
/// reach `least`, and the accumulator.
Value RowSearch::reduceFrom(Value least, Value start, BodyFn combine) {
  AffineMap maps[] = {builder.getMultiDimIdentityMap(1),
                      AffineMap::get(1, 0, builder.getContext())};
  Value init = createFill(builder, loc, ArrayRef<OpFoldResult>(), start);
  Value result =
      linalg::GenericOp::create(
          builder, loc, TypeRange{init.getType()}, ValueRange{row},
          ValueRange{init}, maps, {utils::IteratorType::reduction},
          [&](OpBuilder &b, Location l, ValueRange v) {
            Value bits = arith::BitcastOp::create(b, l, b.getI32Type(), v[0]);
            Value counts = arith::CmpIOp::create(
                b, l, arith::CmpIPredicate::sge, bits, least);
            linalg::YieldOp::create(b, l, combine(b, l, {v[0], counts, v[1]}));
          })
          .getResult(0);
  return tensor::ExtractOp::create(builder, loc, result, ValueRange());
}

/// Returns the largest word for which the condition that `keeps` emits is true.
Value RowSearch::search(function_ref<Value(Value trial)> keeps) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  auto loop = scf::ForOp::create(builder, loc, index(0), index(kBits), index(1),
                                 ValueRange{createWord(0)});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value found = loop.getRegionIterArg(0);
  Value position = arith::IndexCastOp::create(
      builder, loc, builder.getI32Type(), loop.getInductionVar());
  Value bit = arith::ShRUIOp::create(builder, loc, createWord(1 << (kBits - 1)),
                                     position);
  Value trial = arith::OrIOp::create(builder, loc, found, bit);
  Value next =
      arith::SelectOp::create(builder, loc, keeps(trial), trial, found);
  scf::YieldOp::create(builder, loc, next);
  return loop.getResult(0);
}

Value RowSearch::findCount(Value k) {
  Value none = createWord(0), all = createWord(type.getDimSize(0));
  Value limited =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, k, none);
  Value wanted = arith::SelectOp::create(
      builder, loc, limited, arith::MinSIOp::create(builder, loc, k, all), all);
  return search([&](Value trial) -> Value {
    Value count = reduceFrom(
        trial, none, [](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value one = arith::ExtUIOp::create(b, l, v[2].getType(), v[1]);
          return arith::AddIOp::create(b, l, v[2], one);
        });
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, count,
                                 wanted);
  });
}

Value RowSearch::sumFrom(Value least) {
  return reduceFrom(
      least, zero, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value part = arith::SelectOp::create(b, l, v[1], v[0], zero);
        return arith::AddFOp::create(b, l, v[2], part);
      });
}

Value RowSearch::findSum(Value least, Value target) {
  return search([&](Value trial) -> Value {
    Value sum = sumFrom(arith::MaxSIOp::create(builder, loc, trial, least));
    Value enough = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::OGE, sum, target);
    // At least one number is kept for any target.
    Value some = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT,
                                       sum, zero);
    return arith::AndIOp::create(builder, loc, enough, some);
  });
}

/// Returns the row to which a slice of the result belongs, as a tensor of rank
/// one.
static Value extractRow(OpBuilder &builder, tensor::ExtractSliceOp slice,
                        Value operand) {
  Location loc = slice.getLoc();
  auto type = cast<RankedTensorType>(operand.getType());
  int64_t rank = type.getRank(), length = type.getShape().back();
  SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
  offsets.back() = builder.getIndexAttr(0);
  SmallVector<OpFoldResult> sizes = slice.getMixedSizes();
  sizes.back() = builder.getIndexAttr(length);
  SmallVector<OpFoldResult> ones(rank, builder.getIndexAttr(1));
  SmallVector<OpFoldResult> zeros(rank, builder.getIndexAttr(0));
  // Two slices, since the region of an operand keeps all dimensions.
  Value whole = tensor::ExtractSliceOp::create(builder, loc, operand, offsets,
                                               sizes, ones);
  return tensor::ExtractSliceOp::create(builder, loc, type.clone({length}),
                                        whole, zeros, sizes, ones);
}

FailureOr<Value> ark::findThreshold(RewriterBase &rewriter,
                                    tensor::ExtractSliceOp slice,
                                    TopThresholdOp op) {
  if (!llvm::all_of(slice.getMixedSizes(), [](OpFoldResult size) {
        return isConstantIntValue(size, 1);
      }))
    return failure();
  Location loc = op.getLoc();
  Type element = op.getType().getElementType();
  Value k = tensor::ExtractOp::create(rewriter, loc, op.getK(), ValueRange());
  Value p = tensor::ExtractOp::create(rewriter, loc, op.getP(), ValueRange());
  RowSearch search(rewriter, loc, extractRow(rewriter, slice, op.getOperand()));
  Value byCount = search.findCount(k);
  Value target =
      arith::MulFOp::create(rewriter, loc, search.sumFrom(byCount), p);
  Value bySum = search.findSum(byCount, target);
  // With p = 1 all numbers are kept; rounding must not drop any.
  Value one = createNumber(rewriter, loc, element, 1);
  Value all =
      arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OGE, p, one);
  Value both = arith::MaxSIOp::create(rewriter, loc, byCount, bySum);
  Value bits = arith::SelectOp::create(rewriter, loc, all, byCount, both);
  return createFill(rewriter, loc, slice.getMixedSizes(),
                    arith::BitcastOp::create(rewriter, loc, element, bits));
}
