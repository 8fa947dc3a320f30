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

/// Value and index together; the first maximum wins, and NaN is one.
struct DecomposeArgmax : OpConversionPattern<ArgmaxOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ArgmaxOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    Location loc = op.getLoc();
    MLIRContext *context = rewriter.getContext();
    Value x = adaptor.getOperand();
    auto type = cast<RankedTensorType>(x.getType());
    auto resultType = cast<RankedTensorType>(op.getType());
    bool isUnsigned = cast<RankedTensorType>(op.getOperand().getType())
                          .getElementType()
                          .isUnsignedInteger();
    int64_t axis = op.getAxis(), rank = type.getRank();
    SmallVector<OpFoldResult> shape =
        getAsIndexOpFoldResult(context, resultType.getShape());
    Value best = createFill(rewriter, loc, shape,
                            createExtreme(rewriter, loc, type.getElementType(),
                                          /*least=*/true, isUnsigned));
    Value where =
        createFill(rewriter, loc, shape,
                   createNumber(rewriter, loc, resultType.getElementType(), 0));
    AffineMap rows = getMapWithout(context, rank, {axis});
    AffineMap maps[] = {rewriter.getMultiDimIdentityMap(rank), rows, rows};
    SmallVector<utils::IteratorType> iterators(rank,
                                               utils::IteratorType::parallel);
    iterators[axis] = utils::IteratorType::reduction;
    auto generic = linalg::GenericOp::create(
        rewriter, loc, TypeRange{best.getType(), where.getType()},
        ValueRange{x}, ValueRange{best, where}, maps, iterators,
        [&](OpBuilder &b, Location l, ValueRange v) {
          Value better = emitBetter(b, l, v[0], v[1], isUnsigned);
          Value index = arith::IndexCastOp::create(
              b, l, v[2].getType(), linalg::IndexOp::create(b, l, axis));
          Value results[] = {
              arith::SelectOp::create(b, l, better, v[0], v[1]),
              arith::SelectOp::create(b, l, better, index, v[2])};
          linalg::YieldOp::create(b, l, results);
        });
    rewriter.replaceOp(op, generic.getResult(1));
    return success();
  }

  static Value emitBetter(OpBuilder &b, Location l, Value x, Value best,
                          bool isUnsigned) {
    if (!isa<FloatType>(x.getType()))
      return arith::CmpIOp::create(b, l,
                                   isUnsigned ? arith::CmpIPredicate::ugt
                                              : arith::CmpIPredicate::sgt,
                                   x, best);
    // Unordered says greater or NaN: but a NaN that is there already stays.
    Value greater =
        arith::CmpFOp::create(b, l, arith::CmpFPredicate::UGT, x, best);
    Value open =
        arith::CmpFOp::create(b, l, arith::CmpFPredicate::ORD, best, best);
    return arith::AndIOp::create(b, l, greater, open);
  }
};
} // namespace

void ark::populateDecomposeReduce(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<DecomposeArgmax, DecomposeReduce<ReduceMaxOp>,
               DecomposeReduce<ReduceMeanOp>, DecomposeReduce<ReduceMinOp>,
               DecomposeReduce<ReduceSumOp>>(converter, patterns.getContext());
}
