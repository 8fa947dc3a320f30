//===- TileGrid.h - Grid of tiles over a task's domain ----------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_TASKS_TILEGRID_H
#define ARK_PASSES_TILING_TASKS_TILEGRID_H

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace mlir::ark {

/// Divides a domain (the shape of a result) into tiles of one shape. The grid
/// has one dimension for every tiled dimension of the domain. The last tiles
/// may be smaller.
class TileGrid {
public:
  TileGrid(MLIRContext *context, ArrayRef<int64_t> extents,
           ArrayRef<int64_t> tile);

  /// Extents of the grid: at least one dimension.
  ArrayRef<int64_t> getGrid() const { return grid; }
  ArrayRef<int64_t> getTile() const { return tile; }

  /// Offset and extent of a tile in dimension `dim` as functions of the grid
  /// indices.
  AffineExpr getOffsetExpr(unsigned dim) const;
  OpFoldResult getOffset(OpBuilder &builder, Location loc, unsigned dim,
                         ValueRange indices) const;
  OpFoldResult getSize(OpBuilder &builder, Location loc, unsigned dim,
                       ValueRange indices) const;

  /// Returns the dimension whose clipped tile extent `getSize` created as
  /// `size`, or nothing.
  std::optional<unsigned> findClippedDim(Value size, ValueRange indices) const;
  int64_t getExtent(unsigned dim) const { return extents[dim]; }

private:
  bool isClipped(unsigned dim) const;
  AffineMap getSizeMap(unsigned dim) const;

  MLIRContext *context;
  SmallVector<int64_t> extents, tile, grid;
  /// The grid dimension that tiles each dimension of the domain, or -1.
  SmallVector<int64_t> gridDims;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TASKS_TILEGRID_H
