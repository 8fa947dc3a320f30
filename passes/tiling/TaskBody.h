//===- TaskBody.h - From a group's body to that of a task -------*- C++ -*-===//
//
// The steps of ark-tile-groups that work on the body of one task.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TILING_TASKBODY_H
#define ARK_PASSES_TILING_TASKBODY_H

#include "dialects/ark/ArkOps.h"
#include "passes/tiling/TileGrid.h"

#include <optional>

namespace mlir {
class RewriterBase;
namespace tensor {
class ExtractSliceOp;
} // namespace tensor
} // namespace mlir

namespace mlir::ark {

/// Replaces the slices that `task`'s body takes of values of `group`'s body by
/// tiles computed in the task, until the body refers to the group's
/// arguments only.
LogicalResult fuseProducersIntoTask(RewriterBase &rewriter, GroupOp group,
                                    TaskOp task);

/// The threshold of the one row that `slice` is of, found by loops that are
/// written here. Fails where it is of several.
FailureOr<Value> findThreshold(RewriterBase &rewriter,
                               tensor::ExtractSliceOp slice, TopThresholdOp op);

/// Makes the group's arguments, as far as `task`'s body refers to them, inputs
/// of the task, and the slices of them regions.
void makeInputRegions(RewriterBase &rewriter, GroupOp group, TaskOp task,
                      const TileGrid &grid);

/// Makes indexing maps as simple as the tile's extents allow.
void simplifyMapsOfBody(RewriterBase &rewriter, TaskOp task);

/// The dimensions of the tile of their out that bodies leave out: of extent
/// one, because the grid cuts them to that or the tensor has no more, as long
/// as two dimensions remain.
SmallVector<int64_t> getDroppedDims(RankedTensorType tile);

/// Takes such dimensions out of the iteration spaces of structured ops.
void dropUnitDimsOfBody(RewriterBase &rewriter, TaskOp task);

/// Turns `linalg.generic` ops that are contractions into `linalg.contract`.
void nameContractions(RewriterBase &rewriter, TaskOp task);

/// Computes what `task`'s body copies to the tile of its out in there, and lets
/// elementwise ops overwrite what nothing reads after them, so that most bodies
/// need no memory of their own.
void computeInDestination(RewriterBase &rewriter, TaskOp task);

/// Gives every accumulator and temporary a start of its own, where equal ones
/// were made one.
void unshareInits(RewriterBase &rewriter, Block &body);

/// Adds the tile of an operand to a task's body, at the end or before argument
/// `position`: its extents are those of the region, dynamic where a vCTA of
/// the grid is clipped.
BlockArgument addTile(Block &body, RankedTensorType type, RegionAttr region,
                      ArrayRef<int64_t> grid, Location loc,
                      std::optional<unsigned> position = std::nullopt);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TASKBODY_H
