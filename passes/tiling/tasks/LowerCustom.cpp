//===- LowerCustom.cpp - Turn groups of a custom op into tasks ------------===//

#include "passes/tiling/tasks/Passes.h"
#include "passes/tiling/tasks/TaskBody.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::ark {
#define GEN_PASS_DEF_LOWERCUSTOMPASS
#include "passes/tiling/tasks/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Returns the custom op of a group, or null. A group with a custom op has no
/// other ops, except for constants.
static CustomOp getCustom(GroupOp group) {
  auto ops = group.getBody().front().getOps<CustomOp>();
  return ops.empty() ? CustomOp() : *ops.begin();
}

/// Returns the value outside of the group that an operand of an op inside of it
/// stands for. Splat constants, of which groups have copies, move out.
static Value getOuterValue(RewriterBase &rewriter, GroupOp group,
                           Value operand) {
  if (auto argument = dyn_cast<BlockArgument>(operand))
    return group.getInputs()[argument.getArgNumber()];
  return rewriter.clone(*operand.getDefiningOp())->getResult(0);
}

static RegionAttr getWholeRegion(RankedTensorType type, unsigned gridRank) {
  MLIRContext *context = type.getContext();
  SmallVector<AffineExpr> zeros(type.getRank(),
                                getAffineConstantExpr(0, context));
  return RegionAttr::get(context, AffineMap::get(gridRank, 0, zeros, context),
                         type.getShape());
}

/// Lets the body end in a copy to the tile of the out, as bodies of tiled
/// groups do.
static void copyToOut(RewriterBase &rewriter, TaskOp task) {
  Operation *yield = task.getBody().front().getTerminator();
  rewriter.setInsertionPoint(yield);
  auto copy = linalg::CopyOp::create(rewriter, yield->getLoc(),
                                     ValueRange{yield->getOperand(0)},
                                     ValueRange{task.getOutTiles().front()});
  rewriter.modifyOpInPlace(yield,
                           [&] { yield->setOperand(0, copy.getResult(0)); });
}

static TaskOp lower(RewriterBase &rewriter, GroupOp group, CustomOp custom,
                    int64_t warps) {
  Location loc = group.getLoc();
  rewriter.setInsertionPoint(group);
  SmallVector<Value> inputs;
  for (Value operand : custom.getInputs())
    inputs.push_back(getOuterValue(rewriter, group, operand));
  SmallVector<Attribute> regions(custom.getInputRegions().getValue());
  // Tensors that must be complete before the task begins.
  SmallVector<BlockArgument> awaited = llvm::filter_to_vector(
      group.getBody().getArguments(),
      [](BlockArgument input) { return input.use_empty(); });
  for (BlockArgument input : awaited) {
    inputs.push_back(group.getInputs()[input.getArgNumber()]);
    regions.push_back(getWholeRegion(cast<RankedTensorType>(input.getType()),
                                     custom.getGrid().size()));
  }
  auto type = cast<RankedTensorType>(custom.getType());
  Value out = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                      type.getElementType());
  auto task = TaskOp::create(
      rewriter, loc, TypeRange{type}, group.getNameAttr(), custom.getGridAttr(),
      inputs, ValueRange{out}, rewriter.getArrayAttr(regions),
      rewriter.getArrayAttr({custom.getOutRegion()}),
      rewriter.getI64IntegerAttr(warps), rewriter.getI64IntegerAttr(0),
      rewriter.getStrArrayAttr({custom->getName().stripDialect()}),
      group.getPlanAttr(), /*in_place=*/UnitAttr(),
      /*fresh_outs=*/DenseI64ArrayAttr());
  task.getBody().takeBody(custom.getBody());
  Block &body = task.getBody().front();
  for (BlockArgument input : awaited) {
    unsigned position = body.getNumArguments() - 1;
    auto region = cast<RegionAttr>(regions[position - task.getGrid().size()]);
    addTile(body, cast<RankedTensorType>(input.getType()), region,
            task.getGrid(), loc, position);
  }
  copyToOut(rewriter, task);
  rewriter.replaceOp(group, task.getResult(0));
  return task;
}

namespace {
struct LowerCustomPass : ark::impl::LowerCustomPassBase<LowerCustomPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    for (auto group : llvm::make_early_inc_range(
             getOperation().getBody().getOps<GroupOp>())) {
      CustomOp custom = getCustom(group);
      if (!custom)
        continue;
      FailureOr<int64_t> warps = getWarps(group);
      if (failed(warps))
        return signalPassFailure();
      lower(rewriter, group, custom, *warps);
      ++numTasks;
    }
  }
};
} // namespace
