//===- InputRegions.cpp - Turn slices of operands into regions ------------===//

#include "passes/tiling/tasks/TaskBody.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mlir::ark;

using tensor::ExtractSliceOp;

//===----------------------------------------------------------------------===//
// Offsets
//===----------------------------------------------------------------------===//

/// Returns true if an expression does not decrease in any grid index, which the
/// verifier of tasks assumes.
static bool isMonotone(AffineExpr expr) {
  if (isa<AffineConstantExpr, AffineDimExpr>(expr))
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || !isMonotone(binary.getLHS()))
    return false;
  if (binary.getKind() == AffineExprKind::Add)
    return isMonotone(binary.getRHS());
  auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return factor && factor.getValue() >= 0 &&
         (binary.getKind() == AffineExprKind::Mul ||
          binary.getKind() == AffineExprKind::FloorDiv);
}

/// Returns an offset as an expression of the task's grid indices, or null.
static AffineExpr getGridExpr(TaskOp task, OpFoldResult offset) {
  MLIRContext *context = task.getContext();
  if (std::optional<int64_t> constant = getConstantIntValue(offset))
    return *constant >= 0 ? getAffineConstantExpr(*constant, context)
                          : AffineExpr();
  AffineMap map = AffineMap::get(0, 1, getAffineSymbolExpr(0, context));
  SmallVector<Value> operands = {cast<Value>(offset)};
  affine::fullyComposeAffineMapAndOperands(&map, &operands);
  SmallVector<AffineExpr> replacements;
  for (Value operand : operands) {
    auto index = dyn_cast<BlockArgument>(operand);
    if (!index || index.getOwner()->getParentOp() != task ||
        index.getArgNumber() >= task.getGrid().size())
      return {};
    replacements.push_back(getAffineDimExpr(index.getArgNumber(), context));
  }
  ArrayRef<AffineExpr> all(replacements);
  AffineExpr expr = map.getResult(0).replaceDimsAndSymbols(
      all.take_front(map.getNumDims()), all.drop_front(map.getNumDims()));
  expr = simplifyAffineExpr(expr, task.getGrid().size(), 0);
  return isMonotone(expr) ? expr : AffineExpr();
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

BlockArgument ark::addTile(Block &body, RankedTensorType type,
                           RegionAttr region, ArrayRef<int64_t> grid,
                           Location loc, std::optional<unsigned> position) {
  SmallVector<AffineExpr> last;
  for (int64_t extent : grid)
    last.push_back(getAffineConstantExpr(extent - 1, type.getContext()));
  SmallVector<int64_t> shape;
  for (auto [dim, size] : llvm::enumerate(region.getSizes())) {
    AffineExpr offset = region.getOffsets().getResult(dim).replaceDims(last);
    int64_t end = cast<AffineConstantExpr>(offset).getValue() + size;
    shape.push_back(end > type.getDimSize(dim) ? ShapedType::kDynamic : size);
  }
  return body.insertArgument(position.value_or(body.getNumArguments()),
                             type.clone(shape), loc);
}

namespace {
/// The part of an operand that a slice needs.
struct SliceRegion {
  SmallVector<AffineExpr> offsets;
  SmallVector<int64_t> sizes;
  /// Dimensions in which no region can express the slice; the region then
  /// covers the whole dimension.
  SmallVector<bool> isWhole;
};

class RegionBuilder {
public:
  RegionBuilder(RewriterBase &rewriter, TaskOp task, const TileGrid &grid)
      : rewriter(rewriter), task(task), grid(grid) {}

  /// Replaces the uses of `whole` in the task by tiles of the input `operand`.
  void addInput(Value whole, Value operand);
  /// Sets the task's operands and their regions.
  void finish();

private:
  SliceRegion getRegion(RankedTensorType type);
  SliceRegion getRegion(ExtractSliceOp slice);
  BlockArgument getTile(Value operand, const SliceRegion &region);
  void replaceSlice(ExtractSliceOp slice, Value operand);

  RewriterBase &rewriter;
  TaskOp task;
  const TileGrid &grid;
  llvm::MapVector<std::pair<Value, Attribute>, BlockArgument> inputs;
};
} // namespace

/// Returns the region of a whole tensor.
SliceRegion RegionBuilder::getRegion(RankedTensorType type) {
  SliceRegion region;
  for (int64_t extent : type.getShape()) {
    region.offsets.push_back(rewriter.getAffineConstantExpr(0));
    // A region is never empty; a dimension without elements clips it.
    region.sizes.push_back(std::max<int64_t>(extent, 1));
    region.isWhole.push_back(true);
  }
  return region;
}

SliceRegion RegionBuilder::getRegion(ExtractSliceOp slice) {
  RankedTensorType type = slice.getSourceType();
  SliceRegion region = getRegion(type);
  ValueRange indices = task.getGridIndices();
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    AffineExpr offset = getGridExpr(task, slice.getMixedOffsets()[dim]);
    OpFoldResult size = slice.getMixedSizes()[dim];
    if (!offset || !isConstantIntValue(slice.getMixedStrides()[dim], 1))
      continue;
    if (std::optional<int64_t> extent = getConstantIntValue(size)) {
      if (*extent <= 0)
        continue;
      region.sizes[dim] = *extent;
    } else {
      // The region clips at the end of the operand, so the operand must end
      // with the domain.
      std::optional<unsigned> clipped =
          grid.findClippedDim(cast<Value>(size), indices);
      if (!clipped || grid.getOffsetExpr(*clipped) != offset ||
          grid.getExtent(*clipped) != type.getDimSize(dim))
        continue;
      region.sizes[dim] = grid.getTile()[*clipped];
    }
    region.offsets[dim] = offset;
    region.isWhole[dim] = false;
  }
  return region;
}

/// Returns the block argument for a region of an operand. Equal regions share
/// an argument.
BlockArgument RegionBuilder::getTile(Value operand, const SliceRegion &region) {
  MLIRContext *context = rewriter.getContext();
  int64_t rank = task.getGrid().size();
  auto attr = RegionAttr::get(
      context, AffineMap::get(rank, 0, region.offsets, context), region.sizes);
  BlockArgument &tile = inputs[{operand, attr}];
  if (tile)
    return tile;
  tile =
      addTile(task.getBody().front(), cast<RankedTensorType>(operand.getType()),
              attr, task.getGrid(), operand.getLoc(), rank + inputs.size() - 1);
  return tile;
}

void RegionBuilder::replaceSlice(ExtractSliceOp slice, Value operand) {
  SliceRegion region = getRegion(slice);
  Value tile = getTile(operand, region);
  rewriter.setInsertionPoint(slice);
  bool isExact = llvm::none_of(
      llvm::zip(region.isWhole, slice.getMixedOffsets(), slice.getMixedSizes(),
                slice.getSourceType().getShape()),
      [](auto part) {
        auto [isWhole, offset, size, extent] = part;
        return isWhole && !(isConstantIntValue(offset, 0) &&
                            isConstantIntValue(size, extent));
      });
  if (!isExact) {
    SmallVector<OpFoldResult> offsets = slice.getMixedOffsets();
    for (auto [dim, isWhole] : llvm::enumerate(region.isWhole))
      if (!isWhole)
        offsets[dim] = rewriter.getIndexAttr(0);
    tile = ExtractSliceOp::create(rewriter, slice.getLoc(), slice.getType(),
                                  tile, offsets, slice.getMixedSizes(),
                                  slice.getMixedStrides());
  }
  if (tile.getType() != slice.getType())
    tile =
        tensor::CastOp::create(rewriter, slice.getLoc(), slice.getType(), tile);
  rewriter.replaceOp(slice, tile);
}

void RegionBuilder::addInput(Value whole, Value operand) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : whole.getUses())
    if (task->isProperAncestor(use.getOwner()))
      uses.push_back(&use);
  for (OpOperand *use : uses) {
    if (auto slice = dyn_cast<ExtractSliceOp>(use->getOwner())) {
      replaceSlice(slice, operand);
      continue;
    }
    auto type = cast<RankedTensorType>(operand.getType());
    Value tile = getTile(operand, getRegion(type));
    // Only an extent of zero is clipped here.
    if (tile.getType() != type) {
      rewriter.setInsertionPointToStart(&task.getBody().front());
      tile = tensor::CastOp::create(rewriter, task.getLoc(), type, tile);
    }
    rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(tile); });
  }
  // An input without a reader is a control dependence: the task waits for all
  // of it.
  if (uses.empty())
    getTile(operand, getRegion(cast<RankedTensorType>(operand.getType())));
}

void RegionBuilder::finish() {
  SmallVector<Value> operands;
  SmallVector<Attribute> regions;
  for (auto &[key, tile] : inputs) {
    operands.push_back(key.first);
    regions.push_back(key.second);
  }
  rewriter.modifyOpInPlace(task, [&] {
    task.getInputsMutable().assign(operands);
    task.setInputRegionsAttr(rewriter.getArrayAttr(regions));
  });
}

void ark::makeInputRegions(RewriterBase &rewriter, GroupOp group, TaskOp task,
                           const TileGrid &grid) {
  RegionBuilder builder(rewriter, task, grid);
  Block &body = group.getBody().front();
  for (auto [whole, operand] :
       llvm::zip(body.getArguments(), group.getInputs())) {
    // The state of an update is an out, possibly with another shape.
    bool isOut = llvm::any_of(task.getOuts(), [state = operand](Value out) {
      auto reshape = out.getDefiningOp<ReshapeOp>();
      return out == state || (reshape && reshape.getSource() == state);
    });
    bool isRead = llvm::any_of(whole.getUsers(), [&](Operation *user) {
      return task->isProperAncestor(user);
    });
    if (!isOut || isRead)
      builder.addInput(whole, operand);
  }
  builder.finish();
}
