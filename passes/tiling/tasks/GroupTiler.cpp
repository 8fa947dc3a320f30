//===- GroupTiler.cpp - Build the task of one group -----------------------===//

#include "passes/tiling/tasks/GroupTiler.h"

#include "dialects/ark/ArkInference.h"
#include "passes/tiling/selection/TileShape.h"
#include "passes/tiling/tasks/TaskBody.h"
#include "passes/tiling/tasks/TileBodyOps.h"

#include "dialects/ark/ArkMeasurements.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::ark;

using tensor::ExtractSliceOp;
using tensor::InsertSliceOp;

/// Returns the update of a group that yields an insertion into an operand, or a
/// copy to a whole operand; otherwise nothing.
static std::optional<StateUpdate> findUpdate(GroupOp group) {
  Value result = group.getBody().front().getTerminator()->getOperand(0);
  if (auto insertion = result.getDefiningOp<InsertSliceOp>())
    if (auto state = dyn_cast<BlockArgument>(insertion.getDest()))
      return StateUpdate{insertion.getSource(), state,
                         insertion.getMixedOffsets()};
  if (auto copy = result.getDefiningOp<linalg::CopyOp>())
    if (auto state = dyn_cast<BlockArgument>(copy.getOutputs().front()))
      return StateUpdate{
          copy.getInputs().front(), state,
          SmallVector<OpFoldResult>(tensorType(state).getRank(),
                                    OpBuilder(group).getIndexAttr(0))};
  return std::nullopt;
}

static std::optional<StateUpdate> getUpdate(GroupOp group) {
  std::optional<StateUpdate> update = findUpdate(group);
  if (!update)
    return update;
  ArrayRef<int64_t> rows = tensorType(update->value).getShape(),
                    rowsOfState = tensorType(update->state).getShape(),
                    tile = *group.getTile();
  auto dynamic =
      llvm::filter_to_vector(llvm::seq<int64_t>(rows.size()), [&](int64_t dim) {
        return !getConstantIntValue(update->offsets[dim]);
      });
  if (dynamic.size() != 1)
    return update;
  int64_t dim = dynamic.front();
  if (!isInterleaved(rows[dim], rowsOfState[dim], tile[dim]))
    return update;
  update->interleavedDim = dim;
  update->numPartitions = rowsOfState[dim] / tile[dim];
  return update;
}

/// Returns the largest divisor of `extent` up to `wanted`. Tiles of an update
/// divide the value if the state is longer, because the region would not be
/// clipped at the end of the value.
static int64_t getDivisor(int64_t extent, int64_t wanted) {
  for (int64_t size = std::min(extent, wanted); size > 1; --size)
    if (extent % size == 0)
      return size;
  return 1;
}

static Value getRoot(GroupOp group, const std::optional<StateUpdate> &update) {
  if (update)
    return update->value;
  return group.getBody().front().getTerminator()->getOperand(0);
}

/// Returns the type of the task's result. The partitions of a state are a
/// dimension of this type.
static RankedTensorType getTaskType(GroupOp group,
                                    const std::optional<StateUpdate> &update) {
  RankedTensorType type = tensorType(group.getResult(0));
  if (!update || !update->interleavedDim)
    return type;
  SmallVector<int64_t> shape(type.getShape());
  shape[*update->interleavedDim] /= update->numPartitions;
  shape.insert(shape.begin() + *update->interleavedDim + 1,
               update->numPartitions);
  return type.clone(shape);
}

static TileGrid makeGrid(GroupOp group,
                         const std::optional<StateUpdate> &update) {
  SmallVector<int64_t> extents(tensorType(getRoot(group, update)).getShape());
  SmallVector<int64_t> tile(*group.getTile());
  if (update)
    for (auto [extent, whole, size] :
         llvm::zip(extents, tensorType(update->state).getShape(), tile))
      size = extent == whole ? size : getDivisor(extent, size);
  if (update && update->interleavedDim) {
    int64_t dim = *update->interleavedDim + 1;
    extents.insert(extents.begin() + dim, update->numPartitions);
    tile.insert(tile.begin() + dim, 1);
  }
  return TileGrid(group.getContext(), extents, tile);
}

GroupTiler::GroupTiler(RewriterBase &rewriter, GroupOp group)
    : rewriter(rewriter), group(group), loc(group.getLoc()),
      update(getUpdate(group)), type(getTaskType(group, update)),
      grid(makeGrid(group, update)) {
  root = getRoot(group, update);
}

Value GroupTiler::createOut() {
  if (update) {
    Value state = group.getInputs()[update->state.getArgNumber()];
    if (update->interleavedDim)
      return ReshapeOp::create(rewriter, loc, state, type.getShape());
    return state;
  }
  return tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                 type.getElementType());
}

/// Returns the region of the out. In a state, it covers the whole dimension if
/// the offset in this dimension is only known at run time.
RegionAttr GroupTiler::getOutRegion() {
  SmallVector<AffineExpr> offsets;
  SmallVector<int64_t> sizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    AffineExpr offset = grid.getOffsetExpr(dim);
    int64_t size = grid.getTile()[dim];
    if (update && !update->isPartitionDim(dim)) {
      std::optional<int64_t> start =
          getConstantIntValue(update->offsets[update->getValueDim(dim)]);
      offset = start ? offset + *start : rewriter.getAffineConstantExpr(0);
      size = start ? size : type.getDimSize(dim);
    }
    offsets.push_back(offset);
    // A region is never empty; a dimension without elements clips it.
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
      rewriter, loc, TypeRange{type}, group.getNameAttr(),
      rewriter.getDenseI64ArrayAttr(grid.getGrid()), ValueRange(),
      ValueRange{createOut()}, rewriter.getArrayAttr({}),
      rewriter.getArrayAttr({region}), rewriter.getI64IntegerAttr(warps),
      rewriter.getI64IntegerAttr(0), group->getAttrOfType<ArrayAttr>("ops"),
      group.getPlanAttr(), update ? rewriter.getUnitAttr() : UnitAttr(),
      /*fresh_outs=*/DenseI64ArrayAttr());
  if (llvm::any_of(group.getBody().getOps<BodyOpInterface>(),
                   [](BodyOpInterface op) { return op.growsWithRows(); }))
    task->setAttr(kGrowingAttr, rewriter.getUnitAttr());
  Block &body = task.getBody().emplaceBlock();
  for (size_t i = 0; i < grid.getGrid().size(); ++i)
    body.addArgument(rewriter.getIndexType(), loc);
  addTile(body, type, region, task.getGrid(), loc);
  return task;
}

/// Returns true if an offset of dimension 0 is the row of one sequence. Such an
/// offset already depends on the tile, which has one sequence.
static bool isRowOfSequence(OpFoldResult offset) {
  auto value = dyn_cast<Value>(offset);
  auto check = value ? value.getDefiningOp<CheckIndexOp>() : CheckIndexOp();
  return check && check.getSequence();
}

/// Returns the offset of a tile of the value in the out's tile. The offset is
/// zero except in dimensions that the out's tile covers completely.
SmallVector<OpFoldResult> GroupTiler::getUpdateOffsets(ValueRange indices) {
  AffineExpr start = rewriter.getAffineSymbolExpr(0),
             tile = rewriter.getAffineSymbolExpr(1);
  AffineMap sum = AffineMap::get(0, 2, start + tile);
  SmallVector<OpFoldResult> offsets;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    OpFoldResult offset = update->offsets[update->getValueDim(dim)];
    if (update->isPartitionDim(dim) || getConstantIntValue(offset))
      offsets.push_back(rewriter.getIndexAttr(0));
    else if (dim == 0 && isRowOfSequence(offset))
      offsets.push_back(offset);
    else if (update->isRow(dim))
      offsets.push_back(affine::makeComposedFoldedAffineApply(
          rewriter, loc,
          AffineMap::get(0, 1, start.floorDiv(update->numPartitions)),
          {offset}));
    else
      offsets.push_back(affine::makeComposedFoldedAffineApply(
          rewriter, loc, sum,
          {offset, grid.getOffset(rewriter, loc, dim, indices)}));
  }
  return offsets;
}

/// Emits the number of rows that the vCTA writes: one if the row belongs to the
/// vCTA's partition of the state, otherwise zero.
Value GroupTiler::countRows(ValueRange indices) {
  int64_t dim = *update->interleavedDim;
  AffineExpr row = rewriter.getAffineSymbolExpr(0);
  auto toValue = [&](OpFoldResult index) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, index);
  };
  Value partition = toValue(affine::makeComposedFoldedAffineApply(
      rewriter, loc, AffineMap::get(0, 1, row % update->numPartitions),
      {update->offsets[dim]}));
  Value own = toValue(grid.getOffset(rewriter, loc, dim + 1, indices));
  Value isOwn = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::eq,
                                      partition, own);
  return arith::SelectOp::create(
      rewriter, loc, isOwn, arith::ConstantIndexOp::create(rewriter, loc, 1),
      arith::ConstantIndexOp::create(rewriter, loc, 0));
}

static RankedTensorType dropDims(RankedTensorType tile) {
  SmallVector<int64_t> shape, dropped = getDroppedDims(tile);
  for (int64_t dim = 0; dim < tile.getRank(); ++dim)
    if (!llvm::is_contained(dropped, dim))
      shape.push_back(tile.getDimSize(dim));
  return tile.clone(shape);
}

/// Creates a body that copies a tile of the root to the out's tile. The copy
/// marks the destination, and is removed when the tile is computed in place.
void GroupTiler::createBody(TaskOp task) {
  rewriter.setInsertionPointToStart(&task.getBody().front());
  ValueRange indices = task.getGridIndices();
  SmallVector<OpFoldResult> offsets, sizes, rows, partitionSizes;
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    OpFoldResult size = grid.getSize(rewriter, loc, dim, indices);
    OpFoldResult count = size;
    if (update && update->isRow(dim))
      count = countRows(indices);
    partitionSizes.push_back(count);
    if (update && update->isPartitionDim(dim))
      continue;
    offsets.push_back(grid.getOffset(rewriter, loc, dim, indices));
    sizes.push_back(size);
    rows.push_back(count);
  }
  SmallVector<OpFoldResult> ones(offsets.size(), rewriter.getIndexAttr(1));
  SmallVector<OpFoldResult> partitionOnes(partitionSizes.size(),
                                          rewriter.getIndexAttr(1));
  Value outTile = task.getOutTiles().front();

  // The part of the out's tile that the copy fills, without unit dimensions. It
  // is created first, so that ops that compute the tile can use it as
  // destination.
  SmallVector<OpFoldResult> zeros(offsets.size(), rewriter.getIndexAttr(0));
  SmallVector<OpFoldResult> partitionOffsets =
      update ? getUpdateOffsets(indices) : zeros;
  RankedTensorType partitionType =
      dropDims(ExtractSliceOp::inferResultType(tensorType(root), rows));
  Value partition =
      ExtractSliceOp::create(rewriter, loc, partitionType, outTile,
                             partitionOffsets, partitionSizes, partitionOnes);
  Value tile =
      ExtractSliceOp::create(rewriter, loc, root, offsets, sizes, ones);
  Value reduced = ExtractSliceOp::create(rewriter, loc, partitionType, tile,
                                         zeros, rows, ones);
  Value copy = linalg::CopyOp::create(rewriter, loc, ValueRange{reduced},
                                      ValueRange{partition})
                   .getResult(0);
  Value result =
      InsertSliceOp::create(rewriter, loc, copy, outTile, partitionOffsets,
                            partitionSizes, partitionOnes);
  YieldOp::create(rewriter, loc, ValueRange{result});
}

/// Replaces ark.tile_offset ops, since the grid is known now.
void GroupTiler::resolveTileOffsets(TaskOp task) {
  for (auto op :
       llvm::make_early_inc_range(task.getBody().getOps<TileOffsetOp>())) {
    rewriter.setInsertionPoint(op);
    OpFoldResult offset =
        grid.getOffset(rewriter, loc, op.getDim(), task.getGridIndices());
    rewriter.replaceOp(op,
                       getValueOrCreateConstantIndexOp(rewriter, loc, offset));
  }
}

/// Replaces the group's results. Readers that reshape the state to the task's
/// type read the task's result. Other readers get a reshape that joins the
/// partitions.
void GroupTiler::replaceGroup(TaskOp task) {
  Value result = task.getResult(0);
  if (type != group.getResult(0).getType()) {
    for (Operation *user :
         llvm::make_early_inc_range(group.getResult(0).getUsers()))
      if (auto view = dyn_cast<ReshapeOp>(user); view && view.getType() == type)
        rewriter.replaceOp(view, result);
    rewriter.setInsertionPointAfter(task);
    if (!group->use_empty())
      result = ReshapeOp::create(rewriter, loc, result,
                                 tensorType(group.getResult(0)).getShape());
  }
  if (group->use_empty())
    return rewriter.eraseOp(group);
  rewriter.replaceOp(group, result);
}

/// Rejects dimensions without elements, which the graph stage removes.
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

LogicalResult ark::completeBody(RewriterBase &rewriter, TaskOp task,
                                const FrozenRewritePatternSet &cleanup) {
  simplifyMapsOfBody(rewriter, task);
  dropUnitDimsOfBody(rewriter, task);
  if (failed(applyPatternsGreedily(task.getBody(), cleanup)))
    return failure();
  DominanceInfo dominance(task);
  eliminateCommonSubExpressions(rewriter, dominance, task);
  for (auto op : task.getBody().getOps<BodyOpInterface>())
    if (op.keepsResults())
      copyInsertedResults(rewriter, op);
  computeInDestination(rewriter, task);
  nameContractions(rewriter, task);
  return success();
}

FailureOr<TaskOp> GroupTiler::run(int64_t warps,
                                  const FrozenRewritePatternSet &cleanup) {
  rewriter.setInsertionPoint(group);
  if (tensorType(group.getResult(0)).getNumElements() == 0) {
    // Keeps one vCTA, which has no work.
    TaskOp task = createTask(warps);
    rewriter.setInsertionPointToEnd(&task.getBody().front());
    YieldOp::create(rewriter, loc, ValueRange(task.getOutTiles()));
    replaceGroup(task);
    return task;
  }
  if (failed(checkElements(group)))
    return failure();
  TaskOp task = createTask(warps);
  createBody(task);
  if (failed(fuseProducersIntoTask(rewriter, group, task)))
    return failure();
  resolveTileOffsets(task);
  makeInputRegions(rewriter, group, task, grid);
  replaceGroup(task);
  if (failed(completeBody(rewriter, task, cleanup)))
    return failure();
  return task;
}
