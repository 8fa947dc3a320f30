//===- TileGrid.cpp - Grid of tiles over a task's domain ------------------===//

#include "passes/tiling/tasks/TileGrid.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

TileGrid::TileGrid(MLIRContext *context, ArrayRef<int64_t> extents,
                   ArrayRef<int64_t> tile)
    : context(context), extents(extents) {
  for (auto [extent, size] : llvm::zip(extents, tile)) {
    bool isCut = size < extent;
    this->tile.push_back(isCut ? size : extent);
    gridDims.push_back(isCut ? static_cast<int64_t>(grid.size()) : -1);
    if (isCut)
      grid.push_back(llvm::divideCeil(extent, size));
  }
  if (grid.empty())
    grid.push_back(1);
}

AffineExpr TileGrid::getOffsetExpr(unsigned dim) const {
  if (gridDims[dim] < 0)
    return getAffineConstantExpr(0, context);
  return getAffineDimExpr(gridDims[dim], context) * tile[dim];
}

bool TileGrid::isClipped(unsigned dim) const {
  return gridDims[dim] >= 0 && extents[dim] % tile[dim] != 0;
}

/// Returns the extent of a tile as a map of the one grid index that tiles the
/// dimension.
AffineMap TileGrid::getSizeMap(unsigned dim) const {
  AffineExpr index = getAffineDimExpr(0, context);
  AffineExpr sizes[] = {getAffineConstantExpr(tile[dim], context),
                        extents[dim] - index * tile[dim]};
  return AffineMap::get(1, 0, sizes, context);
}

OpFoldResult TileGrid::getOffset(OpBuilder &builder, Location loc, unsigned dim,
                                 ValueRange indices) const {
  if (gridDims[dim] < 0)
    return builder.getIndexAttr(0);
  AffineMap map =
      AffineMap::get(1, 0, getAffineDimExpr(0, context) * tile[dim]);
  return affine::makeComposedFoldedAffineApply(
      builder, loc, map, {OpFoldResult(indices[gridDims[dim]])});
}

OpFoldResult TileGrid::getSize(OpBuilder &builder, Location loc, unsigned dim,
                               ValueRange indices) const {
  if (!isClipped(dim))
    return builder.getIndexAttr(tile[dim]);
  return affine::AffineMinOp::create(builder, loc, getSizeMap(dim),
                                     ValueRange{indices[gridDims[dim]]})
      .getResult();
}

std::optional<unsigned> TileGrid::findClippedDim(Value size,
                                                 ValueRange indices) const {
  auto min = size.getDefiningOp<affine::AffineMinOp>();
  if (!min || min.getNumOperands() != 1)
    return std::nullopt;
  for (unsigned dim = 0; dim < extents.size(); ++dim)
    if (isClipped(dim) && min.getOperand(0) == indices[gridDims[dim]] &&
        min.getAffineMap() == getSizeMap(dim))
      return dim;
  return std::nullopt;
}
