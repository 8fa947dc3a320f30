//===- AttentionLoops.h - Attention by the warps of a CTA -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_ATTENTIONLOOPS_H
#define ARK_PASSES_TARGET_ATTENTION_ATTENTIONLOOPS_H

#include "passes/target/attention/AttentionOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Rows of queries that an instruction multiplies.
inline constexpr int64_t kBlockRows = 16;

/// The division of an attention among threads. With few rows, warps take keys
/// in turn. More rows are blocks of 16, each with as many warps as there are
/// parts of the keys.
struct AttentionShape {
  /// Returns nothing if the attention cannot be divided among the threads, or
  /// needs more than `room` bytes of shared memory. `run` is the largest number
  /// of vCTAs that a run has.
  static std::optional<AttentionShape> choose(const AttentionOps &attention,
                                              int64_t threads, int64_t room,
                                              int64_t run);

  /// Returns the bytes of shared memory for the partial results of the warps.
  int64_t getBytes() const;

  /// Returns true if the rows fit into the columns of an instruction.
  bool hasFewRows() const { return rows <= kBlockRows / 2; }
  /// Returns true if a second loop combines partial results of a row.
  bool hasParts() const { return parts > 1 || hasFewRows(); }
  int64_t getBlocks() const { return (rows + kBlockRows - 1) / kBlockRows; }
  /// Returns the number of keys that a warp takes of a block in a step.
  int64_t getStepKeys() const { return depth <= 32 ? 32 : 16; }

  /// Warps that share a vCTA, and the number of teams of so many warps. Each
  /// team has vCTAs of its own.
  int64_t warps = 0, teams = 1;
  int64_t parts = 0, rows = 0, depth = 0;
  /// Elements of a load.
  int64_t width = 0;
};

/// Builds the loops that replace an attention, at the builder's place and over
/// all threads: one over the keys and, if there are partial results, one that
/// combines them.
void createAttentionLoops(ImplicitLocOpBuilder &builder,
                          const AttentionOps &attention,
                          const AttentionShape &shape);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_ATTENTIONLOOPS_H
