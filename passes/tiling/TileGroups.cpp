//===- TileGroups.cpp - Groups become tasks -------------------------------===//

#include "passes/tiling/Passes.h"
#include "passes/tiling/TaskBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::ark {
#define GEN_PASS_DEF_TILEGROUPSPASS
#include "passes/tiling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

using tensor::ExtractSliceOp;
using tensor::InsertSliceOp;

namespace {
/// What a group that updates a state writes: all of `value`, at `offsets`.
struct Update {
  Value value;
  BlockArgument state;
  SmallVector<OpFoldResult> offsets;
};
} // namespace

static RankedTensorType getType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Warps of a vCTA: the plan's, or all of the target. On a cpu a lane is one
/// thread, however many warps it stands for.
static FailureOr<int64_t> getWarps(GroupOp group) {
  DictionaryAttr plan = group.getPlanAttr();
  if (Attribute attr = plan ? plan.get("warps") : Attribute()) {
    // A range of warps pins the lane, which is the scheduler's matter; its
    // length is the width of the vCTA.
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
  auto module = group->getParentOfType<ModuleOp>();
  auto target = module
                    ? module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr)
                    : TargetAttr();
  return target && target.isGpu() ? target.getWarps() : 1;
}

//===----------------------------------------------------------------------===//
// One group
//===----------------------------------------------------------------------===//

namespace {
/// Builds the task of one group.
class GroupTiler {
public:
  GroupTiler(RewriterBase &rewriter, GroupOp group);

  FailureOr<TaskOp> run(int64_t warps, const FrozenRewritePatternSet &cleanup);

private:
  Value createOut();
  RegionAttr getOutRegion();
  TaskOp createTask(int64_t warps);
  void createBody(TaskOp task);
  SmallVector<OpFoldResult> getUpdateOffsets(ValueRange indices);

  RewriterBase &rewriter;
  GroupOp group;
  Location loc;
  /// What vCTAs compute tiles of: what the group yields or, of a group that
  /// updates a state, what it inserts.
  Value root;
  std::optional<Update> update;
  TileGrid grid;
};
} // namespace

/// The insertion into an operand that a group yields, or its copy to all of an
/// operand, if it yields one.
static std::optional<Update> getUpdate(GroupOp group) {
  Value result = group.getBody().front().getTerminator()->getOperand(0);
  if (auto insertion = result.getDefiningOp<InsertSliceOp>())
    if (auto state = dyn_cast<BlockArgument>(insertion.getDest()))
      return Update{insertion.getSource(), state, insertion.getMixedOffsets()};
  if (auto copy = result.getDefiningOp<linalg::CopyOp>())
    if (auto state = dyn_cast<BlockArgument>(copy.getOutputs().front()))
      return Update{
          copy.getInputs().front(), state,
          SmallVector<OpFoldResult>(getType(state).getRank(),
                                    OpBuilder(group).getIndexAttr(0))};
  return std::nullopt;
}

/// Where a state is longer than the value that an update writes, a region would
/// not be clipped where the value ends: tiles divide the value.
static int64_t getDivisor(int64_t extent, int64_t wanted) {
  for (int64_t size = std::min(extent, wanted); size > 1; --size)
    if (extent % size == 0)
      return size;
  return 1;
}

static Value getRoot(GroupOp group) {
  if (std::optional<Update> update = getUpdate(group))
    return update->value;
  return group.getBody().front().getTerminator()->getOperand(0);
}

static TileGrid makeGrid(GroupOp group) {
  ArrayRef<int64_t> extents = getType(getRoot(group)).getShape();
  SmallVector<int64_t> tile(*group.getTile());
  if (std::optional<Update> update = getUpdate(group))
    for (auto [extent, whole, size] :
         llvm::zip(extents, getType(update->state).getShape(), tile))
      size = extent == whole ? size : getDivisor(extent, size);
  return TileGrid(group.getContext(), extents, tile);
}

GroupTiler::GroupTiler(RewriterBase &rewriter, GroupOp group)
    : rewriter(rewriter), group(group), loc(group.getLoc()),
      root(getRoot(group)), update(getUpdate(group)), grid(makeGrid(group)) {}

Value GroupTiler::createOut() {
  if (update) {
    return group.getInputs()[update->state.getArgNumber()];
  }
  RankedTensorType type = getType(group.getResult(0));
  return tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                 type.getElementType());
}

/// The tile of the result. Of a state, all of a dimension whose offset is only
/// known at run time.
RegionAttr GroupTiler::getOutRegion() {
  RankedTensorType type = getType(group.getResult(0));
  SmallVector<AffineExpr> offsets;
  SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    AffineExpr offset = grid.getOffsetExpr(dim);
    int64_t size = grid.getTile()[dim];
    if (update) {
      std::optional<int64_t> start = getConstantIntValue(update->offsets[dim]);
      offset = start ? offset + *start : rewriter.getAffineConstantExpr(0);
      size = start ? size : type.getDimSize(dim);
    }
    offsets.push_back(offset);
    // A region is not empty; a dimension without elements clips it.
    sizes.push_back(std::max<int64_t>(size, 1));
  }
  MLIRContext *context = rewriter.getContext();
  return RegionAttr::get(
      context, AffineMap::get(grid.getGrid().size(), 0, offsets, context),
      sizes);
}

TaskOp GroupTiler::createTask(int64_t warps) {
  RegionAttr region = getOutRegion();
  auto task = TaskOp::create(
      rewriter, loc, group.getResultTypes(), group.getNameAttr(),
      rewriter.getDenseI64ArrayAttr(grid.getGrid()), ValueRange(),
      ValueRange{createOut()}, rewriter.getArrayAttr({}),
      rewriter.getArrayAttr({region}), rewriter.getI64IntegerAttr(warps),
      rewriter.getI64IntegerAttr(0), group->getAttrOfType<ArrayAttr>("ops"),
      group.getPlanAttr(), update ? rewriter.getUnitAttr() : UnitAttr(),
      /*fresh_outs=*/DenseI64ArrayAttr());
  Block &body = task.getBody().emplaceBlock();
  for (size_t i = 0; i < grid.getGrid().size(); ++i)
    body.addArgument(rewriter.getIndexType(), loc);
  addTile(body, getType(group.getResult(0)), region, task.getGrid(), loc);
  return task;
}

/// Where a tile of the value goes in the out's tile: to its start, except where
/// the out's tile is all of a dimension.
SmallVector<OpFoldResult> GroupTiler::getUpdateOffsets(ValueRange indices) {
  AffineExpr start = rewriter.getAffineSymbolExpr(0),
             tile = rewriter.getAffineSymbolExpr(1);
  AffineMap sum = AffineMap::get(0, 2, start + tile);
  SmallVector<OpFoldResult> offsets;
  for (auto [dim, offset] : llvm::enumerate(update->offsets)) {
    if (getConstantIntValue(offset))
      offsets.push_back(rewriter.getIndexAttr(0));
    else
      offsets.push_back(affine::makeComposedFoldedAffineApply(
          rewriter, loc, sum,
          {offset, grid.getOffset(rewriter, loc, dim, indices)}));
  }
  return offsets;
}

static RankedTensorType dropDims(RankedTensorType tile) {
  SmallVector<int64_t> shape, dropped = getDroppedDims(tile);
  for (int64_t dim = 0; dim < tile.getRank(); ++dim)
    if (!llvm::is_contained(dropped, dim))
      shape.push_back(tile.getDimSize(dim));
  return tile.clone(shape);
}

/// A tile of the root, copied to the out's tile. The copy keeps the place; it
/// goes when the tile is computed there.
void GroupTiler::createBody(TaskOp task) {
  rewriter.setInsertionPointToStart(&task.getBody().front());
  ValueRange indices = task.getGridIndices();
  SmallVector<OpFoldResult> offsets, sizes;
  for (int64_t dim = 0; dim < getType(root).getRank(); ++dim) {
    offsets.push_back(grid.getOffset(rewriter, loc, dim, indices));
    sizes.push_back(grid.getSize(rewriter, loc, dim, indices));
  }
  SmallVector<OpFoldResult> ones(offsets.size(), rewriter.getIndexAttr(1));
  Value outTile = task.getOutTiles().front();

  // The part of the out's tile that the copy fills, without unit dimensions. It
  // comes first, so that whatever computes the tile can compute it there.
  SmallVector<OpFoldResult> zeros(offsets.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> partOffsets =
      update ? getUpdateOffsets(indices) : zeros;
  RankedTensorType tileType =
      ExtractSliceOp::inferResultType(getType(root), sizes);
  RankedTensorType partType = dropDims(tileType);
  Value part = ExtractSliceOp::create(rewriter, loc, partType, outTile,
                                      partOffsets, sizes, ones);
  Value tile =
      ExtractSliceOp::create(rewriter, loc, root, offsets, sizes, ones);
  Value reduced =
      ExtractSliceOp::create(rewriter, loc, partType, tile, zeros, sizes, ones);
  Value copy = linalg::CopyOp::create(rewriter, loc, ValueRange{reduced},
                                      ValueRange{part})
                   .getResult(0);
  Value result = InsertSliceOp::create(rewriter, loc, copy, outTile,
                                       partOffsets, sizes, ones);
  YieldOp::create(rewriter, loc, ValueRange{result});
}

/// Dimensions without elements are the graph stage's matter.
static LogicalResult checkElements(GroupOp group) {
  for (Operation &op : group.getBody().front())
    for (Value operand : op.getOperands())
      if (auto type = dyn_cast<RankedTensorType>(operand.getType());
          type && type.hasStaticShape() && type.getNumElements() == 0)
        return op.emitError("'")
               << op.getName() << "' in group '" << group.getName()
               << "' reads a tensor without elements; ark-normalize-graph "
                  "removes such ops";
  return success();
}

FailureOr<TaskOp> GroupTiler::run(int64_t warps,
                                  const FrozenRewritePatternSet &cleanup) {
  rewriter.setInsertionPoint(group);
  if (getType(group.getResult(0)).getNumElements() == 0) {
    // One vCTA that has nothing to do.
    TaskOp task = createTask(warps);
    rewriter.setInsertionPointToEnd(&task.getBody().front());
    YieldOp::create(rewriter, loc, ValueRange(task.getOutTiles()));
    rewriter.replaceOp(group, task.getResults());
    return task;
  }
  if (failed(checkElements(group)))
    return failure();
  TaskOp task = createTask(warps);
  createBody(task);
  if (failed(fuseProducersIntoTask(rewriter, group, task)))
    return failure();
  makeInputRegions(rewriter, group, task, grid);
  rewriter.replaceOp(group, task.getResults());
  simplifyMapsOfBody(rewriter, task);
  dropUnitDimsOfBody(rewriter, task);
  if (failed(applyPatternsGreedily(task.getBody(), cleanup)))
    return failure();
  DominanceInfo dominance(task);
  eliminateCommonSubExpressions(rewriter, dominance, task);
  computeInDestination(rewriter, task);
  nameContractions(rewriter, task);
  return task;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct TileGroupsPass : ark::impl::TileGroupsPassBase<TileGroupsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    TileGroupsPassBase::getDependentDialects(registry);
    linalg::registerTilingInterfaceExternalModels(registry);
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
