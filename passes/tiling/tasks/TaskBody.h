//===- TaskBody.h - Lower a group's body to a task's body -------*- C++ -*-===//
//
// Steps of ark-tile-groups that work on the body of one task.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_TILING_TASKS_TASKBODY_H
#define ARK_PASSES_TILING_TASKS_TASKBODY_H

#include "dialects/ark/ArkOps.h"
#include "passes/tiling/tasks/TileGrid.h"

#include <optional>

namespace mlir {
class RewriterBase;
namespace tensor {
class ExtractSliceOp;
} // namespace tensor
} // namespace mlir

namespace mlir::ark {

/// Returns the number of warps of a vCTA, from the group's plan or else from
/// the target. On cpu a lane is one thread, whatever its number of warps.
FailureOr<int64_t> getWarps(GroupOp group);

/// Replaces slices of the group's values in the task's body by tiles that the
/// task computes, until the body refers to the group's arguments only.
LogicalResult fuseProducersIntoTask(RewriterBase &rewriter, GroupOp group,
                                    TaskOp task);

/// Builds the loops that find the threshold of the row to which `slice`
/// belongs. Fails if `slice` covers several rows.
FailureOr<Value> findThreshold(RewriterBase &rewriter,
                               tensor::ExtractSliceOp slice, TopThresholdOp op);

/// Replaces a slice of the result of `gather` by a slice of its table. Fails if
/// `slice` covers several matrices.
FailureOr<Value> sliceGatheredMatrix(RewriterBase &rewriter,
                                     tensor::ExtractSliceOp slice,
                                     GatherOp gather);

/// Turns the group's arguments that the task's body uses into inputs of the
/// task, and their slices into regions.
void makeInputRegions(RewriterBase &rewriter, GroupOp group, TaskOp task,
                      const TileGrid &grid);

/// Simplifies indexing maps with the static extents of the tile.
void simplifyMapsOfBody(RewriterBase &rewriter, TaskOp task);

/// Returns the dimensions of an out's tile that bodies omit: unit dimensions of
/// the tile. At least two dimensions remain.
SmallVector<int64_t> getDroppedDims(RankedTensorType tile);

/// Drops the dimensions of `getDroppedDims` from the iteration spaces of
/// structured ops.
void dropUnitDimsOfBody(RewriterBase &rewriter, TaskOp task);

/// Turns `linalg.generic` ops that are contractions into `linalg.contract`.
void nameContractions(RewriterBase &rewriter, TaskOp task);

/// Computes the value that the body copies to the tile of its out directly in
/// the tile, and lets elementwise ops overwrite operands that no later op
/// reads. Most bodies then need no memory for intermediates.
void computeInDestination(RewriterBase &rewriter, TaskOp task);

/// Creates a separate init op for every accumulator and temporary, since CSE
/// has merged equal init ops.
void unshareInits(RewriterBase &rewriter, Block &body);

/// Adds the tile of an operand to a task's body, at the end or before argument
/// `position`. Its extents are those of the region, or dynamic if a vCTA of the
/// grid is clipped.
BlockArgument addTile(Block &body, RankedTensorType type, RegionAttr region,
                      ArrayRef<int64_t> grid, Location loc,
                      std::optional<unsigned> position = std::nullopt);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TASKS_TASKBODY_H
