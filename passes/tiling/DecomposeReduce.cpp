//===- DecomposeReduce.cpp - Reductions and argmax ------------------------===//

#include "passes/tiling/Decompose.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

static Value emitSum(OpBuilder &b, Location loc, ValueRange v) {
  if (isa<FloatType>(v[0].getType()))
    return arith::AddFOp::create(b, loc, v[0], v[1]);
  return arith::AddIOp::create(b, loc, v[0], v[1]);
}

namespace {
template <typename ReduceOp>
struct DecomposeReduce : OpConversionPattern<ReduceOp> {
  using OpConversionPattern<ReduceOp>::OpConversionPattern;
  static constexpr bool isMax = std::is_same_v<ReduceOp, ReduceMaxOp>;
  static constexpr bool isMin = std::is_same_v<ReduceOp, ReduceMinOp>;
  static constexpr bool isMean = std::is_same_v<ReduceOp, ReduceMeanOp>;

  LogicalResult
  matchAndRewrite(ReduceOp op, typename ReduceOp::Adaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getOperand();
    auto type = cast<RankedTensorType>(x.getType());
    bool isUnsigned = cast<RankedTensorType>(op.getOperand().getType())
                          .getElementType()
                          .isUnsignedInteger();
    Value start = isMax || isMin
                      ? createExtreme(rewriter, loc, type.getElementType(),
                                      isMax, isUnsigned)
                      : createNumber(rewriter, loc, type.getElementType(), 0);
    Value reduced = createReduction(
        rewriter, loc, x, op.getAxes(), start,
        [&](OpBuilder &b, Location l, ValueRange v) {
          return isMax || isMin
                     ? emitExtremum(b, l, v[0], v[1], isMax, isUnsigned)
                     : emitSum(b, l, v);
        });
    int64_t count = 1;
    for (int64_t axis : op.getAxes())
      count *= type.getDimSize(axis);
    rewriter.replaceOp(op, finish(rewriter, op, reduced, count));
    return success();
  }

  /// Divides a mean by the count, and brings reduced dimensions back.
  Value finish(ConversionPatternRewriter &rewriter, ReduceOp op, Value reduced,
               int64_t count) const {
    if (!isMean && !op.getKeepdims())
      return reduced;
    auto type = cast<RankedTensorType>(
        this->getTypeConverter()->convertType(op.getType()));
    AffineMap map =
        getMapWithout(rewriter.getContext(), type.getRank(),
                      op.getKeepdims() ? op.getAxes() : ArrayRef<int64_t>());
    Value init = createEmpty(rewriter, op.getLoc(), type.getShape(),
                             type.getElementType());
    return createElementwise(
        rewriter, op.getLoc(), reduced, {map}, init,
        [&](OpBuilder &b, Location l, ValueRange v) -> Value {
          if (!isMean)
            return v[0];
          Value divisor = createNumber(b, l, v[0].getType(), count);
          return arith::DivFOp::create(b, l, v[0], divisor);
        });
  }
};

/// The maximum, then the least index of an element that is one: two reductions
/// of one value each, which vectors and threads can share in any order. NaN is
/// a maximum.
struct DecomposeArgmax : OpConversionPattern<ArgmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ArgmaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    Value x = adaptor.getOperand();
    bool isUnsigned = cast<RankedTensorType>(op.getOperand().getType())
                          .getElementType()
                          .isUnsignedInteger();
    Type element = cast<RankedTensorType>(x.getType()).getElementType();
    int64_t axis = op.getAxis();
    Value best = createReduction(
        rewriter, loc, x, axis,
        createExtreme(rewriter, loc, element, /*least=*/true, isUnsigned),
        [&](OpBuilder &b, Location l, ValueRange v) {
          return emitExtremum(b, l, v[0], v[1], /*isMax=*/true, isUnsigned);
        });
    rewriter.replaceOp(op, createLeastIndex(rewriter, op, x, best));
    return success();
  }

  static Value createLeastIndex(OpBuilder &builder, ArgmaxOp op, Value x,
                                Value best) {
    Location loc = op.getLoc();
    auto type = cast<RankedTensorType>(x.getType());
    auto resultType = cast<RankedTensorType>(op.getType());
    Type index = resultType.getElementType();
    int64_t axis = op.getAxis(), rank = type.getRank();
    Value none = createExtreme(builder, loc, index, /*least=*/false,
                               /*isUnsigned=*/false);
    Value init = createFill(
        builder, loc,
        getAsIndexOpFoldResult(builder.getContext(), resultType.getShape()),
        none);
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

  /// Where there is a NaN the maximum is one, and equals nothing.
  static Value emitIsBest(OpBuilder &b, Location l, Value x, Value best) {
    if (!isa<FloatType>(x.getType()))
      return arith::CmpIOp::create(b, l, arith::CmpIPredicate::eq, x, best);
    Value isEqual =
        arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, x, best);
    Value isNan = arith::CmpFOp::create(b, l, arith::CmpFPredicate::UNO, x, x);
    return arith::OrIOp::create(b, l, isEqual, isNan);
  }
};
} // namespace

void ark::populateDecomposeReduce(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<DecomposeArgmax, DecomposeReduce<ReduceMaxOp>,
               DecomposeReduce<ReduceMeanOp>, DecomposeReduce<ReduceMinOp>,
               DecomposeReduce<ReduceSumOp>>(converter, patterns.getContext());
}
