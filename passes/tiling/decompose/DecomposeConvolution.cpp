//===- DecomposeConvolution.cpp - Decompose convolutions ------------------===//

#include "passes/tiling/decompose/Decompose.h"

#include "dialects/ark/ArkConvolutionOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns the map of an operand whose last dimensions are `exprs`, in a space
/// of `numLoops` loops. The dimensions before those broadcast to `leading`.
static AffineMap getOperandMap(Value operand, ArrayRef<int64_t> leading,
                               int64_t numLoops, ArrayRef<AffineExpr> exprs) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(operand.getType()).getShape();
  MLIRContext *context = operand.getContext();
  SmallVector<AffineExpr> results(
      getBroadcastMap(context, shape.drop_back(exprs.size()), leading)
          .getResults());
  llvm::append_range(results, exprs);
  return AffineMap::get(numLoops, 0, results, context);
}

namespace {
struct DecomposeConvolution : OpConversionPattern<ConvolutionOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ConvolutionOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    MLIRContext *context = rewriter.getContext();
    auto type =
        cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    ArrayRef<int64_t> leading = type.getShape().drop_back(3);
    int64_t first = leading.size(), numLoops = first + 6;
    auto loop = [&](int64_t number) {
      return rewriter.getAffineDimExpr(first + number);
    };
    AffineExpr m = loop(0), y = loop(1), x = loop(2), c = loop(3), i = loop(4),
               j = loop(5);
    int64_t stride = op.getStride(), dilation = op.getDilation();
    AffineExpr row = y * stride + i * dilation + j;
    Value filters =
              getContractionOperand(op.getFilters(), adaptor.getFilters()),
          images = getContractionOperand(op.getImages(), adaptor.getImages());
    AffineMap maps[] = {
        getOperandMap(filters, leading, numLoops, {m, c, i, j}),
        getOperandMap(images, leading, numLoops, {c, row, x}),
        getMapWithout(context, numLoops, {first + 3, first + 4, first + 5})};
    rewriter.replaceOp(
        op, createContraction(rewriter, op.getLoc(), filters, images, maps,
                              getAsIndexOpFoldResult(context, type.getShape()),
                              type.getElementType()));
    return success();
  }
};
} // namespace

void ark::populateDecomposeConvolution(const TypeConverter &converter,
                                       RewritePatternSet &patterns) {
  patterns.add<DecomposeConvolution>(converter, patterns.getContext());
}
