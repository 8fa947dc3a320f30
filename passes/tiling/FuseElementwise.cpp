//===- FuseElementwise.cpp - Fuse elementwise structured ops --------------===//

#include "lib/analysis/CostModel.h"
#include "lib/support/BufferView.h"
#include "passes/tiling/NormFusion.h"
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

/// Returns true if a body only converts the type of its input, which is cheap
/// to repeat.
static bool onlyConverts(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return isa<arith::ExtFOp, arith::TruncFOp, UnrealizedConversionCastOp,
               arith::ConstantOp>(inner);
  });
}

/// Returns true if an op has effects, which must happen once for every element
/// of its own iteration space.
static bool hasEffects(linalg::GenericOp op) {
  return llvm::any_of(op.getBody()->without_terminator(), [](Operation &inner) {
    return !isMemoryEffectFree(&inner);
  });
}

/// Returns true if an op combines the elements along a loop.
static bool reducesLoop(Operation *op, unsigned loop) {
  if (auto norm = dyn_cast<RowNormOp>(op))
    return loop == norm.getColumnLoop();
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic &&
         linalg::isReductionIterator(generic.getIteratorTypesArray()[loop]);
}

/// Returns the minimum bytes of a result that one vCTA needs: the elements that
/// a reader reduces to one element.
static int64_t countBytesAtOnce(linalg::GenericOp producer) {
  auto type = cast<RankedTensorType>(producer.getResult(0).getType());
  int64_t most = 1;
  for (OpOperand &use : producer->getUses()) {
    if (!isa<linalg::GenericOp, RowNormOp>(use.getOwner()))
      continue;
    AffineMap map = cast<IndexingMapOpInterface>(use.getOwner())
                        .getMatchingIndexingMap(&use);
    int64_t elements = 1;
    for (auto [axis, index] : llvm::enumerate(map.getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(index);
          dim && reducesLoop(use.getOwner(), dim.getPosition()))
        elements *= type.getDimSize(axis);
    most = std::max(most, elements);
  }
  return most * getElementBytes(type.getElementType());
}

/// Returns true if bufferization may compute the producer's result in the
/// group's out. A norm cannot read its input from its out.
static bool canShareOut(linalg::GenericOp producer) {
  Operation *yield = producer->getBlock()->getTerminator();
  return producer.getResult(0).getType() == yield->getOperand(0).getType() &&
         llvm::none_of(producer->getUsers(), llvm::IsaPred<RowNormOp>);
}

/// Returns true if a tile of the producer's result takes more than half of a
/// GPU's shared memory, so that two such tiles do not fit.
static bool exceedsSharedMemory(linalg::GenericOp producer) {
  TargetAttr target = findTarget(producer);
  return target && target.isGpu() && producer->getNumResults() == 1 &&
         !canShareOut(producer) &&
         2 * countBytesAtOnce(producer) > target.getSharedMemory();
}

/// Returns true if a map selects another element in each iteration.
static bool readsOnce(AffineMap map) {
  return map.isPermutation() && map.getNumDims() == map.getNumResults();
}

/// Returns true if a norm should compute the elements of an input itself.
static bool shouldFuseIntoNorm(linalg::GenericOp producer, RowNormOp norm,
                               OpOperand *operand) {
  if (hasEffects(producer))
    return false;
  if (onlyConverts(producer))
    return true;
  // The sums and the result each run the prologue.
  bool isComputedOnce =
      producer->hasOneUse() &&
      norm.getPrologueArgument(operand->getOperandNumber()).use_empty();
  return readsOnce(norm.getMap(*operand)) &&
         (isComputedOnce || exceedsSharedMemory(producer));
}

/// Returns true if the producer of `operand` may be fused into the operand's
/// owner.
static bool shouldFuse(OpOperand *operand) {
  auto producer = operand->get().getDefiningOp<linalg::GenericOp>();
  if (auto norm = dyn_cast<RowNormOp>(operand->getOwner()))
    return producer && shouldFuseIntoNorm(producer, norm, operand);
  if (auto norm = operand->get().getDefiningOp<RowNormOp>())
    return norm->getResult(0).hasOneUse() &&
           cast<linalg::GenericOp>(operand->getOwner())
               .getMatchingIndexingMap(operand)
               .isIdentity();
  auto consumer = dyn_cast<linalg::GenericOp>(operand->getOwner());
  if (!producer || !consumer || hasEffects(producer))
    return false;
  // Backends match contractions, and an op stays a contraction only if nothing
  // except conversions is fused into it.
  if (linalg::isaContractionOpInterface(
          cast<linalg::LinalgOp>(consumer.getOperation())))
    return onlyConverts(producer);
  if (onlyConverts(producer))
    return true;
  // A value that the consumer reads for several elements would be recomputed
  // for each element.
  return readsOnce(consumer.getMatchingIndexingMap(operand)) &&
         (producer->hasOneUse() || exceedsSharedMemory(producer));
}

namespace {
struct FuseElementwisePass
    : ark::impl::FuseElementwisePassBase<FuseElementwisePass> {
  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    linalg::populateElementwiseOpsFusionPatterns(set, shouldFuse);
    populateNormFusionPatterns(set, shouldFuse);
    linalg::populateEraseUnusedOperandsAndResultsPatterns(set);
    linalg::GenericOp::getCanonicalizationPatterns(set, context);
    patterns = std::move(set);
    return success();
  }

  void runOnOperation() override {
    // Tasks are those of custom ops.
    for (Operation &op : getOperation().getBody().front())
      if (isa<GroupOp, TaskOp>(op) &&
          failed(applyPatternsGreedily(op.getRegion(0), patterns)))
        return signalPassFailure();
  }

  FrozenRewritePatternSet patterns;
};
} // namespace
