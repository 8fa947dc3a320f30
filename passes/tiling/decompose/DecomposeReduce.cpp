//===- DecomposeReduce.cpp - Decompose reductions -------------------------===//

#include "passes/tiling/decompose/Decompose.h"

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

  /// Divides the sum of a mean by the count, and restores reduced dimensions if
  /// `keepdims` is set.
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
} // namespace

void ark::populateDecomposeReduce(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<DecomposeReduce<ReduceMaxOp>, DecomposeReduce<ReduceMeanOp>,
               DecomposeReduce<ReduceMinOp>, DecomposeReduce<ReduceSumOp>>(
      converter, patterns.getContext());
}
