//===- TileGroups.cpp - Tile groups into tasks ----------------------------===//

#include "lib/analysis/CostModel.h"
#include "passes/tiling/tasks/GroupTiler.h"
#include "passes/tiling/tasks/Passes.h"
#include "passes/tiling/tasks/TaskBody.h"
#include "passes/tiling/tasks/TileBodyOps.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"

namespace mlir::ark {
#define GEN_PASS_DEF_TILEGROUPSPASS
#include "passes/tiling/tasks/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

FailureOr<int64_t> ark::getWarps(GroupOp group) {
  DictionaryAttr plan = group.getPlanAttr();
  if (Attribute attr = plan ? plan.get("warps") : Attribute()) {
    // A range of warps pins the lane, which concerns the scheduler. The length
    // of the range is the width of the vCTA.
    int64_t begin = 0, end = 0;
    if (auto integer = dyn_cast<IntegerAttr>(attr))
      end = integer.getValue().getSExtValue();
    else if (auto range = dyn_cast<DenseI64ArrayAttr>(attr);
             range && range.size() == 2)
      std::tie(begin, end) = std::pair(range[0], range[1]);
    if (end > begin)
      return end - begin;
    group.emitError("plan of '")
        << group.getName() << "' has warps = " << attr
        << "; expected a positive number or a range [begin, end]";
    return failure();
  }
  TargetAttr target = findRankTarget(group);
  return target && target.isGpu() ? target.getWarps() : 1;
}

/// Creates a tensor for every out of a task, since CSE has merged equal tensors
/// without elements, and each task needs separate memory.
static void unshareOuts(RewriterBase &rewriter, TaskOp task) {
  rewriter.setInsertionPoint(task);
  for (OpOperand &out : task.getOutsMutable()) {
    auto empty = out.get().getDefiningOp<tensor::EmptyOp>();
    if (!empty || empty->hasOneUse())
      continue;
    Operation *own = rewriter.clone(*empty);
    rewriter.modifyOpInPlace(task, [&] { out.set(own->getResult(0)); });
  }
}

namespace {
struct TileGroupsPass : ark::impl::TileGroupsPassBase<TileGroupsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    TileGroupsPassBase::getDependentDialects(registry);
    linalg::registerTilingInterfaceExternalModels(registry);
    registerAttentionTiling(registry);
    registerAttentionGradientTiling(registry);
    registerRowNormTiling(registry);
  }

  LogicalResult initialize(MLIRContext *context) override {
    RewritePatternSet set(context);
    affine::AffineApplyOp::getCanonicalizationPatterns(set, context);
    linalg::GenericOp::getCanonicalizationPatterns(set, context);
    tensor::CastOp::getCanonicalizationPatterns(set, context);
    tensor::DimOp::getCanonicalizationPatterns(set, context);
    tensor::EmptyOp::getCanonicalizationPatterns(set, context);
    tensor::ExtractSliceOp::getCanonicalizationPatterns(set, context);
    tensor::InsertSliceOp::getCanonicalizationPatterns(set, context);
    tensor::populateFoldTensorEmptyPatterns(set);
    linalg::populateSwapExtractSliceWithFillPatterns(set);
    cleanup = std::move(set);
    return success();
  }

  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    // Tasks of custom ops.
    for (auto task : getOperation().getBody().getOps<TaskOp>()) {
      if (task->getNumResults() == 0) {
        task.emitError("task '")
            << task.getName()
            << "' works on buffers already; the tiling stage takes tensors";
        return signalPassFailure();
      }
      unshareOuts(rewriter, task);
      if (failed(completeBody(rewriter, task, cleanup)))
        return signalPassFailure();
    }
    for (auto group : llvm::make_early_inc_range(
             getOperation().getBody().getOps<GroupOp>())) {
      if (!group.getTile()) {
        group.emitError("group '")
            << group.getName() << "' has no tile; run ark-select-tiles first";
        return signalPassFailure();
      }
      FailureOr<int64_t> warps = getWarps(group);
      if (failed(warps))
        return signalPassFailure();
      FailureOr<TaskOp> task = GroupTiler(rewriter, group).run(*warps, cleanup);
      if (failed(task))
        return signalPassFailure();
      ++numTasks;
      numVCTAs += task->getNumVCTAs();
    }
  }

  FrozenRewritePatternSet cleanup;
};
} // namespace
