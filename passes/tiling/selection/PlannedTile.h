//===- PlannedTile.h - The tile of the user's plan --------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_SELECTION_PLANNEDTILE_H
#define ARK_PASSES_TILING_SELECTION_PLANNEDTILE_H

#include "passes/tiling/selection/TileShape.h"

namespace mlir::ark {

/// Returns the planned tile of a group, with an extent for every dimension of
/// the result, or nothing if the group has no plan. Emits an error and fails if
/// the plan is not a list of positive extents, or if the group cannot be
/// divided into such tiles.
FailureOr<std::optional<Tile>> getPlannedTile(GroupOp group);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_SELECTION_PLANNEDTILE_H
