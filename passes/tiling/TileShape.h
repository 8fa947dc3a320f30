//===- TileShape.h - Which tiles a group can be cut into --------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_TILESHAPE_H
#define ARK_PASSES_TILING_TILESHAPE_H

#include "dialects/ark/ArkOps.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace mlir::ark {

/// One extent for every dimension of the domain.
using Tile = SmallVector<int64_t>;

/// The op that decides the work of a group's tiles; null where all are
/// elementwise.
Operation *getTileAnchor(GroupOp group);

/// The shape that tiles cut: the result's, or that of the slice an update
/// writes.
ArrayRef<int64_t> getDomain(GroupOp group, Operation *anchor);

/// Dimensions of the domain that a tile has to hold in full, because every
/// element of the result needs all of them.
SmallVector<int64_t> getWholeDims(Operation *anchor, int64_t rank);

/// Dimensions in which a tile of an update should hold all rows: where they go
/// is known at run time only, so that tiles, none of which is known to be apart
/// from the others, would have to follow each other.
SmallVector<int64_t> getSerialDims(Operation *anchor);

/// Where attention has its query heads, and how many of them read one key head.
struct HeadDims {
  int64_t dim, sharing;
};
std::optional<HeadDims> getHeadDims(Operation *anchor);

/// A tile of an update may be longer than the only row that is written, where
/// that is known at run time only: then it stands for a piece of the state. Of
/// `P` pieces that have as many rows as the tile, vCTA `p` has those whose
/// number is `p` modulo `P`, and writes the row if it is one of them.
bool isPiece(int64_t rows, int64_t rowsOfState, int64_t size);

/// The dimension in which a tile of the group is such a piece.
std::optional<int64_t> getPieceDim(GroupOp group, ArrayRef<int64_t> tile);

int64_t countTiles(ArrayRef<int64_t> domain, ArrayRef<int64_t> tile);

/// About `wanted`: a divisor of `extent`, because tiles of one static shape
/// make the better code, or else such that all tiles are nearly equal and a
/// multiple of `unit`.
int64_t divideEvenly(int64_t extent, int64_t wanted, int64_t unit);

/// Bytes that one element of the domain stands for, in and out.
int64_t getBytesPerElement(GroupOp group, Operation *anchor,
                           ArrayRef<int64_t> domain);

/// Any tile as one that can be cut: no longer than the domain, whole where
/// elements of the result need all of a dimension, and with query heads that
/// read the same key heads in every tile.
Tile legalize(GroupOp group, Tile tile);

/// Cuts a tile further, in any dimension, where there are fewer tiles than SMs
/// and the cost model expects the task to end earlier.
Tile cutForIdleSMs(GroupOp group, Tile tile, TargetAttr target);

/// The part of an SM's memory that rows may take which every vCTA of their
/// reader makes by itself.
constexpr int64_t kRowsShare = 3;

/// Cuts those of `movable` groups that make what `group` alone reads such that
/// every tile of theirs is read by one tile of `group`; norms of few rows such
/// that they are one tile.
void alignTiles(GroupOp group,
                const llvm::SmallPtrSetImpl<Operation *> &movable,
                TargetAttr target);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TILESHAPE_H
