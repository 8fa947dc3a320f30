//===- DecomposeElementwise.cpp - Decompose elementwise ops ---------------===//

#include "passes/tiling/decompose/Decompose.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Decomposes any elementwise op. Splat constants become scalars of its body.
struct DecomposeElementwiseOp
    : OpInterfaceConversionPattern<ElementwiseOpInterface> {
  using OpInterfaceConversionPattern::OpInterfaceConversionPattern;

  LogicalResult
  matchAndRewrite(ElementwiseOpInterface op, ArrayRef<Value> operands,
                  ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(
        getTypeConverter()->convertType(op->getResult(0).getType()));
    SmallVector<Value> inputs;
    SmallVector<AffineMap> maps;
    SmallVector<SplatElementsAttr> splats;
    for (auto [original, operand] : llvm::zip(op->getOperands(), operands)) {
      auto constant = original.getDefiningOp<ConstantOp>();
      splats.push_back(constant
                           ? dyn_cast<SplatElementsAttr>(constant.getValue())
                           : SplatElementsAttr());
      if (splats.back())
        continue;
      inputs.push_back(operand);
      maps.push_back(
          getBroadcastMap(rewriter.getContext(),
                          cast<RankedTensorType>(operand.getType()).getShape(),
                          type.getShape()));
    }
    Value init = createEmpty(rewriter, op->getLoc(), type.getShape(),
                             type.getElementType());
    Value result = createElementwise(
        rewriter, op->getLoc(), inputs, maps, init,
        [&](OpBuilder &b, Location loc, ValueRange elements) {
          SmallVector<Value> scalars;
          for (SplatElementsAttr splat : splats) {
            if (splat) {
              scalars.push_back(createSplatScalar(b, loc, splat));
              continue;
            }
            scalars.push_back(elements.front());
            elements = elements.drop_front();
          }
          return emitScalar(b, op, scalars);
        });
    rewriter.replaceOp(op, result);
    return success();
  }
};

/// Decomposes a splat constant that a non-elementwise op reads.
struct DecomposeConstant : OpConversionPattern<ConstantOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult
  matchAndRewrite(ConstantOp op, OpAdaptor adaptor,
                  ConversionPatternRewriter &rewriter) const override {
    auto splat = dyn_cast<SplatElementsAttr>(op.getValue());
    if (!splat)
      return rewriter.notifyMatchFailure(op, "not a splat");
    SmallVector<OpFoldResult> shape = getAsIndexOpFoldResult(
        rewriter.getContext(), splat.getType().getShape());
    Value scalar = createSplatScalar(rewriter, op.getLoc(), splat);
    rewriter.replaceOp(op, createFill(rewriter, op.getLoc(), shape, scalar));
    return success();
  }
};
} // namespace

void ark::populateDecomposeElementwise(const TypeConverter &converter,
                                       RewritePatternSet &patterns) {
  patterns.add<DecomposeConstant, DecomposeElementwiseOp>(
      converter, patterns.getContext());
}
