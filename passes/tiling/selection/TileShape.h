//===- TileShape.h - Tile shapes that a group permits -----------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_SELECTION_TILESHAPE_H
#define ARK_PASSES_TILING_SELECTION_TILESHAPE_H

#include "dialects/ark/ArkOps.h"

#include "llvm/ADT/SmallPtrSet.h"

#include <optional>

namespace mlir::ark {

/// One extent for every dimension of the domain.
using Tile = SmallVector<int64_t>;

/// Returns the op that determines the work of a group's tiles, or null if all
/// ops are elementwise.
AnchorOpInterface getTileAnchor(GroupOp group);

/// Returns the shape that is divided into tiles: the shape of the result, or of
/// the slice of the result that the anchor writes.
ArrayRef<int64_t> getDomain(GroupOp group);

/// Returns true if a group adds few matrices, such as the results of split-K
/// parts.
bool addsMatrices(GroupOp group);

/// Returns true if a tile of an update is an interleaved partition of the
/// state: the update writes a single row, at a dynamic offset, and the tile has
/// more rows. With `P` partitions, vCTA `p` owns the rows whose index is `p`
/// modulo `P`. The vCTA that owns the row writes it.
bool isInterleaved(int64_t rows, int64_t rowsOfState, int64_t size);

/// Returns the dimension in which a tile of the group is an interleaved
/// partition of a state, or nothing.
std::optional<int64_t> getInterleavedDim(GroupOp group, ArrayRef<int64_t> tile);

int64_t countTiles(ArrayRef<int64_t> domain, ArrayRef<int64_t> tile);

/// Returns an extent of about `wanted`: a divisor of `extent` if possible,
/// because tiles of one static shape make better code; otherwise a multiple of
/// `unit` for which all tiles are nearly equal.
int64_t divideEvenly(int64_t extent, int64_t wanted, int64_t unit);

/// Returns the largest divisor of `extent` that is at most `wanted` and more
/// than a quarter of it, or zero if there is none.
int64_t findDivisor(int64_t extent, int64_t wanted);

/// Returns the bytes read and written per element of the domain.
int64_t getBytesPerElement(GroupOp group);

/// Bytes of the smallest memory transaction.
constexpr int64_t kSectorBytes = 32;

/// Returns the minimum number of columns of a tile: those of a memory
/// transaction if the tile of a GPU reduces long columns; otherwise one.
int64_t getLeastColumns(GroupOp group, TargetAttr target);

/// Returns the nearest valid tile: no longer than the domain, complete in the
/// whole dimensions of the anchor, of extent one in its unit dimensions, and
/// with the same number of query heads per key head in every tile.
Tile legalize(GroupOp group, Tile tile);

/// Returns true if a group of another rank reads the result of `group`.
bool isReadByAnotherRank(GroupOp group);

/// Returns true if `group` reads the result of a group of another rank.
bool readsAnotherRank(GroupOp group);

/// Divides a tile further, in any dimension, if there are fewer tiles than SMs
/// and the cost model predicts an earlier end of the task. In `dividedDim`, the
/// smaller tile also divides the domain: clipped tiles would take longer than
/// the cost model predicts.
Tile cutForIdleSMs(GroupOp group, Tile tile, TargetAttr target,
                   std::optional<int64_t> dividedDim);

/// A tensor that every vCTA of its reader recomputes may take 1/kRowsShare of
/// the shared memory of an SM.
constexpr int64_t kRowsShare = 3;

/// Aligns the tiles of those `movable` groups whose results only `group` reads:
/// each of their tiles is then read by one tile of `group`. Norms of few rows
/// become one tile. A `movable` norm of a sum of matrices gets the tile of the
/// sum.
void alignTiles(GroupOp group,
                const llvm::SmallPtrSetImpl<Operation *> &movable,
                TargetAttr target);

/// Gives chains of `movable` elementwise groups and sums over rows tiles of the
/// same rows, so that their tasks can be fused.
void alignRows(ProgramOp program,
               const llvm::SmallPtrSetImpl<Operation *> &movable);

/// Aligns the tiles of a `movable` group that copies a tensor to another rank
/// with the tiles of the group that computes the tensor. The vCTAs that compute
/// can then store to the other rank as well.
void alignPut(GroupOp group, const llvm::SmallPtrSetImpl<Operation *> &movable);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_SELECTION_TILESHAPE_H
