//===- DecomposeSampling.cpp - Random bits, top-k and top-p ---------------===//

#include "passes/tiling/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Philox
//===----------------------------------------------------------------------===//

static Value createWord(OpBuilder &builder, Location loc, uint32_t value) {
  return arith::ConstantOp::create(
      builder, loc,
      builder.getIntegerAttr(builder.getI32Type(), APInt(32, value)));
}

static Value emitXor(OpBuilder &b, Location loc, Value x, Value y, Value z) {
  return arith::XOrIOp::create(b, loc, arith::XOrIOp::create(b, loc, x, y), z);
}

/// Philox4x32-10 as Salmon, Moraes, Dror and Shaw give it (SC '11).
Value ark::emitPhilox(OpBuilder &b, Location loc, Value index, Value counter,
                      Value seed) {
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantIntOp::create(b, loc, value, 64);
  };
  auto low = [&](Value value) -> Value {
    return arith::TruncIOp::create(b, loc, b.getI32Type(), value);
  };
  auto high = [&](Value value) {
    return low(arith::ShRUIOp::create(b, loc, value, number(32)));
  };
  Value block = arith::ShRUIOp::create(b, loc, index, number(2));
  SmallVector<Value> words = {low(block), high(block), low(counter),
                              high(counter)};
  Value firstKey = low(seed), secondKey = high(seed);
  for (int round = 0; round < 10; ++round) {
    auto first = arith::MulUIExtendedOp::create(
        b, loc, createWord(b, loc, 0xD2511F53), words[0]);
    auto second = arith::MulUIExtendedOp::create(
        b, loc, createWord(b, loc, 0xCD9E8D57), words[2]);
    words = {
        emitXor(b, loc, second.getHigh(), words[1], firstKey), second.getLow(),
        emitXor(b, loc, first.getHigh(), words[3], secondKey), first.getLow()};
    firstKey =
        arith::AddIOp::create(b, loc, firstKey, createWord(b, loc, 0x9E3779B9));
    secondKey = arith::AddIOp::create(b, loc, secondKey,
                                      createWord(b, loc, 0xBB67AE85));
  }
  Value place =
      arith::AndIOp::create(b, loc, low(index), createWord(b, loc, 3));
  Value result = words[3];
  for (uint32_t word = 0; word < 3; ++word) {
    Value here = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, place,
                                       createWord(b, loc, word));
    result = arith::SelectOp::create(b, loc, here, words[word], result);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Thresholds
//===----------------------------------------------------------------------===//

namespace {
/// Finds thresholds bit by bit, the highest first: the bits of floats from zero
/// on are ordered as the floats are. Values of rows lack the last dimension.
class ThresholdBuilder {
public:
  ThresholdBuilder(OpBuilder &builder, Location loc, Value x)
      : builder(builder), loc(loc), x(x),
        type(cast<RankedTensorType>(x.getType())),
        zero(createNumber(builder, loc, type.getElementType(), 0)) {}

  /// The bits of the k-th largest number of every row.
  Value findCount(Value k);
  /// The largest bits such that the numbers from them on, and not below
  /// `least`, have a sum of at least `target`.
  Value findSum(Value least, Value target);
  /// The sum of the numbers from the bits `least` on.
  Value sumFrom(Value least);
  /// One value for every row, from others.
  Value forRows(ValueRange inputs, Type element, BodyFn body);

private:
  Value createRows(Value scalar);
  Value reduceFrom(Value least, Value start, BodyFn combine);
  Value search(function_ref<Value(Value trial)> keeps);

  OpBuilder &builder;
  Location loc;
  Value x;
  RankedTensorType type;
  Value zero;
};
} // namespace

Value ThresholdBuilder::createRows(Value scalar) {
  return createFill(
      builder, loc,
      getAsIndexOpFoldResult(builder.getContext(), type.getShape().drop_back()),
      scalar);
}

Value ThresholdBuilder::forRows(ValueRange inputs, Type element, BodyFn body) {
  Value init = createEmpty(builder, loc, type.getShape().drop_back(), element);
  SmallVector<AffineMap> maps(
      inputs.size(), builder.getMultiDimIdentityMap(type.getRank() - 1));
  return createElementwise(builder, loc, inputs, maps, init, body);
}

/// Reduces every row. `combine` is given a number, whether it is from `least`
/// on, and the accumulator.
Value ThresholdBuilder::reduceFrom(Value least, Value start, BodyFn combine) {
  int64_t rank = type.getRank();
  AffineMap row = getMapWithout(builder.getContext(), rank, {rank - 1});
  AffineMap maps[] = {builder.getMultiDimIdentityMap(rank), row, row};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.back() = utils::IteratorType::reduction;
  Value init = createRows(start);
  return linalg::GenericOp::create(
             builder, loc, TypeRange{init.getType()}, ValueRange{x, least},
             ValueRange{init}, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange v) {
               Value bits =
                   arith::BitcastOp::create(b, l, b.getI32Type(), v[0]);
               Value counts = arith::CmpIOp::create(
                   b, l, arith::CmpIPredicate::sge, bits, v[1]);
               linalg::YieldOp::create(b, l,
                                       combine(b, l, {v[0], counts, v[2]}));
             })
      .getResult(0);
}

/// The largest bits for which `keeps` gives true.
Value ThresholdBuilder::search(function_ref<Value(Value trial)> keeps) {
  Type word = builder.getI32Type();
  Value found = createRows(createWord(builder, loc, 0));
  // The sign is zero.
  for (int position = 30; position >= 0; --position) {
    Value bit = createWord(builder, loc, 1u << position);
    Value trial = forRows(found, word,
                          [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                            return arith::OrIOp::create(b, l, v[0], bit);
                          });
    found = forRows({keeps(trial), trial, found}, word,
                    [](OpBuilder &b, Location l, ValueRange v) -> Value {
                      return arith::SelectOp::create(b, l, v[0], v[1], v[2]);
                    });
  }
  return found;
}

Value ThresholdBuilder::findCount(Value k) {
  Value none = createWord(builder, loc, 0);
  Value all = createWord(builder, loc, type.getShape().back());
  Value limited =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt, k, none);
  Value wanted = arith::SelectOp::create(
      builder, loc, limited, arith::MinSIOp::create(builder, loc, k, all), all);
  return search([&](Value trial) {
    Value count = reduceFrom(
        trial, none, [](OpBuilder &b, Location l, ValueRange v) -> Value {
          Value one = arith::ExtUIOp::create(b, l, v[2].getType(), v[1]);
          return arith::AddIOp::create(b, l, v[2], one);
        });
    return forRows(count, builder.getI1Type(),
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     return arith::CmpIOp::create(
                         b, l, arith::CmpIPredicate::sge, v[0], wanted);
                   });
  });
}

Value ThresholdBuilder::sumFrom(Value least) {
  return reduceFrom(
      least, zero, [&](OpBuilder &b, Location l, ValueRange v) -> Value {
        Value part = arith::SelectOp::create(b, l, v[1], v[0], zero);
        return arith::AddFOp::create(b, l, v[2], part);
      });
}

Value ThresholdBuilder::findSum(Value least, Value target) {
  return search([&](Value trial) {
    Value from = forRows({trial, least}, builder.getI32Type(),
                         [](OpBuilder &b, Location l, ValueRange v) -> Value {
                           return arith::MaxSIOp::create(b, l, v[0], v[1]);
                         });
    return forRows({sumFrom(from), target}, builder.getI1Type(),
                   [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                     Value enough = arith::CmpFOp::create(
                         b, l, arith::CmpFPredicate::OGE, v[0], v[1]);
                     // One is kept, whatever the target.
                     Value some = arith::CmpFOp::create(
                         b, l, arith::CmpFPredicate::OGT, v[0], zero);
                     return arith::AndIOp::create(b, l, enough, some);
                   });
  });
}

namespace {
struct DecomposeTopThreshold : OpConversionPattern<TopThresholdOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(TopThresholdOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(op.getType());
    Type element = type.getElementType();
    Value k =
        tensor::ExtractOp::create(rewriter, loc, adaptor.getK(), ValueRange());
    Value p =
        tensor::ExtractOp::create(rewriter, loc, adaptor.getP(), ValueRange());
    ThresholdBuilder rows(rewriter, loc, adaptor.getOperand());
    Value byCount = rows.findCount(k);
    Value target =
        rows.forRows(rows.sumFrom(byCount), element,
                     [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                       return arith::MulFOp::create(b, l, v[0], p);
                     });
    Value bySum = rows.findSum(byCount, target);
    // Rounding must not drop anything where all is to be kept.
    Value one = createNumber(rewriter, loc, element, 1);
    Value all =
        arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OGE, p, one);
    AffineMap map = getMapWithout(rewriter.getContext(), type.getRank(),
                                  {type.getRank() - 1});
    Value init = createEmpty(rewriter, loc, type.getShape(), element);
    rewriter.replaceOp(
        op, createElementwise(
                rewriter, loc, {byCount, bySum}, {map, map}, init,
                [&](OpBuilder &b, Location l, ValueRange v) -> Value {
                  Value both = arith::MaxSIOp::create(b, l, v[0], v[1]);
                  Value bits = arith::SelectOp::create(b, l, all, v[0], both);
                  return arith::BitcastOp::create(b, l, element, bits);
                }));
    return success();
  }
};
} // namespace

void ark::populateDecomposeSampling(const TypeConverter &converter,
                                    RewritePatternSet &patterns) {
  patterns.add<DecomposeTopThreshold>(converter, patterns.getContext());
}
