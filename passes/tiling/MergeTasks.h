//===- MergeTasks.h - One task of two ---------------------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_MERGETASKS_H
#define ARK_PASSES_TILING_MERGETASKS_H

#include "dialects/ark/ArkOps.h"

namespace mlir {
class RewriterBase;
} // namespace mlir

namespace mlir::ark {

/// How two tasks become one: vCTA `i` of the one does the work of vCTA `i` of
/// both, or before its own the work of the first's only vCTA or, where the grid
/// of the second begins with that of the first, of the one with its indices.
enum class MergeKind { Pairwise, Repeated };

/// Whether every vCTA of `second` has one of `first` whose work it can repeat.
bool isRepeatable(TaskOp first, TaskOp second);

/// What a vCTA of the merged task has of an operand of `first`.
RegionAttr getMergedRegion(TaskOp first, unsigned operand, TaskOp second,
                           MergeKind kind);

/// Where a tile of `second` begins in what its partner among the vCTAs of
/// `first` makes of `out`, one number for every dimension; nothing where that
/// is not the same for all vCTAs, or the tile does not lie in it.
std::optional<SmallVector<int64_t>> getPlaceInPart(TaskOp first, unsigned out,
                                                   TaskOp second,
                                                   unsigned input,
                                                   MergeKind kind);

/// Replaces two tasks by one at the place of `second`, whose vCTAs do the work
/// of `first` and then that of `second`. What `second` reads of `first` stays
/// inside; results of `first` that others read remain results.
///
/// The caller has seen to it that each vCTA of `second` reads of `first` just
/// what its partner makes, and that nothing between the two needs `first`.
TaskOp mergeTasks(RewriterBase &rewriter, TaskOp first, TaskOp second,
                  MergeKind kind);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_MERGETASKS_H
