//===- SinkReshapes.cpp - Reshapes between elementwise ops ----------------===//

#include "passes/graph/SinkReshapes.h"

#include "lib/support/GraphUtils.h"

using namespace mlir;
using namespace mlir::ark;

/// Returns true if an elementwise op that reads the only use of `op` may join
/// the group of `op`.
static bool takesReader(Operation *op) {
  if (auto anchor = dyn_cast<AnchorOpInterface>(op))
    return anchor.takesEpilogue();
  return isa<ElementwiseOpInterface>(op);
}

/// Returns true if the elements of `to` have no more bits than those of `from`.
/// A wider result would move more bytes than the reshaped operand.
static bool isNoWider(RankedTensorType to, RankedTensorType from) {
  return to.getElementTypeBitWidth() <= from.getElementTypeBitWidth();
}

namespace {
struct ReshapeAfterUnary : OpInterfaceRewritePattern<ElementwiseOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;
  LogicalResult matchAndRewrite(ElementwiseOpInterface op,
                                PatternRewriter &rewriter) const override {
    // A copy stays, since it exists to fill a buffer. An op with a plan stays,
    // since the plan may state a tile of its shape.
    if (op->getNumOperands() != 1 || isa<CopyOp>(op) ||
        op->hasAttr(ArkDialect::kPlanAttr))
      return failure();
    auto view = op->getOperand(0).getDefiningOp<ReshapeOp>();
    if (!view || !view->hasOneUse())
      return failure();
    Operation *producer = view.getSource().getDefiningOp();
    if (!producer || !producer->hasOneUse() || !takesReader(producer))
      return failure();
    RankedTensorType type = getTensorType(op->getResult(0)),
                     source = getTensorType(view.getSource());
    if (!isNoWider(type, source))
      return failure();
    Operation *before = rewriter.clone(*op);
    rewriter.modifyOpInPlace(before, [&] {
      before->setOperand(0, view.getSource());
      before->getResult(0).setType(type.clone(source.getShape()));
    });
    rewriter.replaceOpWithNewOp<ReshapeOp>(op, before->getResult(0),
                                           type.getShape());
    return success();
  }
};
} // namespace

void ark::populateSinkReshapePatterns(RewritePatternSet &patterns) {
  patterns.add<ReshapeAfterUnary>(patterns.getContext());
}
