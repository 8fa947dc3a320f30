//===- FuseElementwise.cpp - Joins elementwise structured ops -------------===//

#include "passes/tiling/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ark {
#define GEN_PASS_DEF_FUSEELEMENTWISEPASS
#include "passes/tiling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// A body that only changes the type of its one input costs nothing to repeat.
static bool onlyConverts(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<arith::ExtFOp, arith::TruncFOp, UnrealizedConversionCastOp,
               arith::ConstantOp>(inner);
  });
}

/// An op whose effect must happen once for every element of its own space.
static bool hasEffects(linalg::GenericOp op) {
  return llvm::any_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return !isMemoryEffectFree(&inner);
  });
}

/// Whether the producer of `operand` may move into the operand's owner.
static bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || hasEffects(producer))
    return false;
  // Backends recognise contractions; of what could join one, only conversions
  // leave it one.
  if (linalg::isaContractionOpInterface(
          cast<linalg::LinalgOp>(consumer.getOperation())))
    return onlyConverts(producer);
  if (onlyConverts(producer))
    return true;
  // A value that the consumer reads for several elements would be computed for
  // each of them.
  AffineMap map = consumer.getMatchingIndexingMap(operand);
  bool readOnce =
      map.isPermutation() && map.getNumDims() == map.getNumResults();
  return readOnce && producer->hasOneUse();
}

namespace {
struct FuseElementwisePass
    : ark::impl::FuseElementwisePassBase<FuseElementwisePass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    linalg::populateElementwiseOpsFusionPatterns(set, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(set);
    linalg::GenericOp::getCanonicalizationPatterns(set, context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    for (auto group : getOperation().getBody().getOps<GroupOp>())
      if (failed(applyPatternsGreedily(group.getBody(), patterns)))
        return signalPassFailure();
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
