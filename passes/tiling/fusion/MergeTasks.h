//===- MergeTasks.h - Merge two tasks into one ------------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_FUSION_MERGETASKS_H
#define ARK_PASSES_TILING_FUSION_MERGETASKS_H

#include "dialects/ark/ArkOps.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::ark {

/// Kinds of merging two tasks. Pairwise: vCTA `i` executes the work of vCTA `i`
/// of both tasks. Repeated: every vCTA of the second task first executes the
/// work of one vCTA of the first task. This vCTA is the only vCTA of the first
/// task or, if the grid of the second task begins with the grid of the first,
/// the vCTA with the same leading indices.
enum class MergeKind { Pairwise, Repeated };

/// Returns true if every vCTA of `second` has a vCTA of `first` whose work it
/// can repeat.
bool isRepeatable(TaskOp first, TaskOp second);

/// Returns the region of an operand of `first` that a vCTA of the merged task
/// accesses.
RegionAttr getMergedRegion(TaskOp first, unsigned operand, TaskOp second,
                           MergeKind kind);

/// Returns the offsets of a tile of `second` in the tile of `out` that the vCTA
/// of `first` with the same work computes. Returns nothing if the offsets vary
/// between vCTAs, or if the tile does not lie in that tile of `out`.
std::optional<SmallVector<int64_t>> getOffsetsInPart(TaskOp first, unsigned out,
                                                     TaskOp second,
                                                     unsigned input,
                                                     MergeKind kind);

/// Replaces two tasks by one task at the position of `second`. Its vCTAs
/// execute the work of `first` and then the work of `second`. Results of
/// `first` that only `second` reads become temporaries; results with other
/// readers remain results.
///
/// The caller ensures that each vCTA of `second` reads only results of the vCTA
/// of `first` with which it is merged, and that no op between the two tasks
/// depends on `first`.
TaskOp mergeTasks(RewriterBase &rewriter, TaskOp first, TaskOp second,
                  MergeKind kind);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_FUSION_MERGETASKS_H
