//===- BodyCost.h - Work of one unclipped vCTA ------------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_BODYCOST_H
#define ARK_LIB_ANALYSIS_BODYCOST_H

#include "dialects/ark/ArkOps.h"

#include <optional>

namespace mlir::ark {

/// Returns the floating-point operations of a body whose tiles all have full
/// extent.
int64_t countBodyFlops(TaskOp task);

/// Returns the bytes of an operand's tile that the body accesses. If the body
/// selects slices of the tile at run time, such as rows of an embedding table,
/// returns the bytes of these slices; otherwise all bytes of the tile.
int64_t countTouchedBytes(TaskOp task, unsigned operand);

/// Predicts the time in which matrix units compute the products of a body, with
/// the prologue and the epilogue of the tile. Shared memory, the L2 and the
/// matrix units limit this time, and not DRAM. Returns nothing if the body has
/// no product, or a product with a tile that the target does not list.
std::optional<double> predictProductsNs(TaskOp task, TargetAttr target);

/// Times in ns of the threads of a GPU's SM in a body.
struct ThreadTimes {
  /// The time of all arithmetic but that of products.
  double arithmetic = 0;
  /// The time of attention, and of products of matrices that the body computes.
  double products = 0;
  /// The time in which threads wait for the first loads, at barriers, and in
  /// loops.
  double latency = 0;
};

/// Predicts the times of threads in a body of a program of `ranks` ranks.
/// Returns nothing for bodies that stream weights or keys, and for targets that
/// are no GPUs.
std::optional<ThreadTimes> predictThreads(TaskOp task, TargetAttr target,
                                          int64_t ranks);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_BODYCOST_H
