//===- TileGrid.h - How a task cuts its domain into tiles -------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_TILEGRID_H
#define ARK_PASSES_TILING_TILEGRID_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::ark {

/// A domain (the shape of a result) in tiles of one shape. The grid has a
/// dimension for every one of the domain that is cut; the last tiles may be
/// smaller.
class TileGrid {
public:
  TileGrid(MLIRContext *context, ArrayRef<int64_t> extents,
           ArrayRef<int64_t> tile);

  /// Extents of the grid: at least one dimension.
  ArrayRef<int64_t> getGrid() const { return grid; }
  ArrayRef<int64_t> getTile() const { return tile; }

  /// Position and extent of a tile in dimension `dim`, in terms of the grid's
  /// indices.
  AffineExpr getOffsetExpr(unsigned dim) const;
  OpFoldResult getOffset(OpBuilder &builder, Location loc, unsigned dim,
                         ValueRange indices) const;
  OpFoldResult getSize(OpBuilder &builder, Location loc, unsigned dim,
                       ValueRange indices) const;

  /// The dimension of the domain whose tile extent `size` is, for the clipped
  /// ones that `getSize` makes.
  std::optional<unsigned> findClippedDim(Value size, ValueRange indices) const;
  int64_t getExtent(unsigned dim) const { return extents[dim]; }

private:
  bool isClipped(unsigned dim) const;
  AffineMap getSizeMap(unsigned dim) const;

  MLIRContext *context;
  SmallVector<int64_t> extents, tile, grid;
  /// The grid's dimension that cuts a dimension of the domain; -1 for none.
  SmallVector<int64_t> gridDims;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TILEGRID_H
