//===- DecomposeArgmax.cpp - Decompose argmax and its partial forms -------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

static bool isUnsigned(Value tensor) {
  return cast<RankedTensorType>(tensor.getType())
      .getElementType()
      .isUnsignedInteger();
}

//===----------------------------------------------------------------------===//
// Maximum and its index
//===----------------------------------------------------------------------===//

/// Reduces to the maximum; NaN counts as the maximum.
static Value createMaximum(OpBuilder &builder, Location loc, Value x,
                           int64_t axis, bool isUnsigned) {
  Type element = cast<RankedTensorType>(x.getType()).getElementType();
  Value least =
      createExtreme(builder, loc, element, /*least=*/true, isUnsigned);
  return createReduction(builder, loc, x, axis, least,
                         [&](OpBuilder &b, Location l, ValueRange v) {
                           return emitExtremum(b, l, v[0], v[1],
                                               /*isMaximum=*/true, isUnsigned);
                         });
}

/// Emits the test that `x` is the maximum `best`. The maximum of a row with
/// NaNs is NaN, and every NaN passes the test.
static Value emitIsBest(OpBuilder &b, Location l, Value x, Value best) {
  if (!isa<FloatType>(x.getType()))
    return arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, x, best);
  Value isEqual =
      arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, x, best);
  Value isNan = arith::CmpFOp::create(b, l, arith::CmpFPredicate::UNO, x, x);
  return arith::OrIOp::create(b, l, isEqual, isNan);
}

/// Reduces to the smallest index, as i32, of an element along `axis` that
/// equals the maximum.
static Value createLeastIndex(OpBuilder &builder, Location loc, Value x,
                              Value best, int64_t axis) {
  int64_t rank = cast<RankedTensorType>(x.getType()).getRank();
  Type index = builder.getI32Type();
  Value none = createExtreme(builder, loc, index, /*least=*/false,
                             /*isUnsigned=*/false);
  Value init =
      createFill(builder, loc, tensor::getMixedSizes(builder, loc, best), none);
  AffineMap rows = getMapWithout(builder.getContext(), rank, {axis});
  AffineMap maps[] = {builder.getMultiDimIdentityMap(rank), rows, rows};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators[axis] = utils::IteratorType::reduction;
  return linalg::GenericOp::create(
             builder, loc, TypeRange{init.getType()}, ValueRange{x, best},
             ValueRange{init}, maps, iterators,
             [&](OpBuilder &b, Location l, ValueRange v) {
               Value here = arith::IndexCastOp::create(
                   b, l, index, linalg::IndexOp::create(b, l, axis));
               Value isBest = emitIsBest(b, l, v[0], v[1]);
               Value candidate =
                   arith::SelectOp::create(b, l, isBest, here, none);
               Value least = arith::MinSIOp::create(b, l, candidate, v[2]);
               linalg::YieldOp::create(b, l, least);
             })
      .getResult(0);
}

//===----------------------------------------------------------------------===//
// Packing into one word
//===----------------------------------------------------------------------===//

static Value createInteger(OpBuilder &b, Location l, Type type, int64_t value) {
  return arith::ConstantOp::create(b, l, b.getIntegerAttr(type, value));
}

/// Emits an i32 that orders like the values: NaN is above all values, and zeros
/// are equal.
static Value emitOrder(OpBuilder &b, Location l, Value x, bool isUnsigned) {
  Type word = b.getI32Type();
  if (x.getType().isInteger(32) && isUnsigned)
    return arith::XOrIOp::create(
        b, l, x,
        createInteger(b, l, word, std::numeric_limits<int32_t>::min()));
  if (x.getType().isInteger(32))
    return x;
  if (isa<IntegerType>(x.getType()) && isUnsigned)
    return arith::ExtUIOp::create(b, l, word, x);
  if (isa<IntegerType>(x.getType()))
    return arith::ExtSIOp::create(b, l, word, x);
  Value zero = createInteger(b, l, word, 0);
  Value most = createInteger(b, l, word, std::numeric_limits<int32_t>::max());
  Value bits = arith::BitcastOp::create(b, l, word, x);
  Value isZero = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, x,
                                       createNumber(b, l, x.getType(), 0));
  bits = arith::SelectOp::create(b, l, isZero, zero, bits);
  // A negative number with a larger magnitude is smaller.
  Value isNegative =
      arith::CmpIOp::create(b, l, arith::CmpIPredicate::slt, bits, zero);
  Value turned = arith::XOrIOp::create(b, l, bits, most);
  Value order = arith::SelectOp::create(b, l, isNegative, turned, bits);
  Value isNan = arith::CmpFOp::create(b, l, arith::CmpFPredicate::UNO, x, x);
  return arith::SelectOp::create(b, l, isNan, most, order);
}

/// Packs order and index as ark.partial_argmax documents it.
static Value emitPacked(OpBuilder &b, Location l, Value order, Value index) {
  Type wide = b.getI64Type();
  Value upper =
      arith::ShLIOp::create(b, l, arith::ExtSIOp::create(b, l, wide, order),
                            createInteger(b, l, wide, 32));
  Value complement = arith::XOrIOp::create(
      b, l, index, createInteger(b, l, index.getType(), -1));
  Value lower = arith::ExtUIOp::create(b, l, wide, complement);
  return arith::OrIOp::create(b, l, upper, lower);
}

static Value emitUnpackedIndex(OpBuilder &b, Location l, Value packed) {
  Value lower = arith::TruncIOp::create(b, l, b.getI32Type(), packed);
  return arith::XOrIOp::create(b, l, lower,
                               createInteger(b, l, lower.getType(), -1));
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

namespace {
/// Computes the maximum, then the least index of an element that equals it.
/// Each reduction has a single value, which vectors and threads can reduce in
/// any order.
struct DecomposeArgmax : OpConversionPattern<ArgmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ArgmaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getOperand();
    int64_t axis = op.getAxis();
    Value best =
        createMaximum(rewriter, loc, x, axis, isUnsigned(op.getOperand()));
    rewriter.replaceOp(op, createLeastIndex(rewriter, loc, x, best, axis));
    return success();
  }
};

/// Computes maximum and index for every partition, and packs them into a word.
struct DecomposePartialArgmax : OpConversionPattern<PartialArgmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(PartialArgmaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getOperand();
    int64_t axis = op.getAxis(), partitions = axis - 1;
    bool isUnsignedValue = isUnsigned(op.getOperand());
    Value best = createMaximum(rewriter, loc, x, axis, isUnsignedValue);
    Value index = createLeastIndex(rewriter, loc, x, best, axis);
    auto type = cast<RankedTensorType>(op.getType());
    int64_t extent = cast<RankedTensorType>(x.getType()).getDimSize(axis);
    AffineMap map = rewriter.getMultiDimIdentityMap(type.getRank());
    Value init =
        createEmpty(rewriter, loc, type.getShape(), type.getElementType());
    rewriter.replaceOp(
        op, createElementwise(
                rewriter, loc, {best, index}, {map, map}, init,
                [&](OpBuilder &b, Location l, ValueRange v) {
                  Type word = v[1].getType();
                  Value partition = arith::IndexCastOp::create(
                      b, l, word, linalg::IndexOp::create(b, l, partitions));
                  Value first = arith::MulIOp::create(
                      b, l, partition, createInteger(b, l, word, extent));
                  return emitPacked(b, l,
                                    emitOrder(b, l, v[0], isUnsignedValue),
                                    arith::AddIOp::create(b, l, first, v[1]));
                }));
    return success();
  }
};

struct DecomposeCombineArgmax : OpConversionPattern<CombineArgmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(CombineArgmaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value best = createMaximum(rewriter, loc, adaptor.getOperand(),
                               op.getAxis(), /*isUnsigned=*/false);
    auto type = cast<RankedTensorType>(op.getType());
    Value init =
        createEmpty(rewriter, loc, type.getShape(), type.getElementType());
    rewriter.replaceOp(
        op, createElementwise(rewriter, loc, best,
                              {rewriter.getMultiDimIdentityMap(type.getRank())},
                              init, [](OpBuilder &b, Location l, ValueRange v) {
                                return emitUnpackedIndex(b, l, v[0]);
                              }));
    return success();
  }
};
} // namespace

void ark::populateDecomposeArgmax(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<DecomposeArgmax, DecomposeCombineArgmax, DecomposePartialArgmax>(
      converter, patterns.getContext());
}
