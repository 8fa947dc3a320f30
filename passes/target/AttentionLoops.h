//===- AttentionLoops.h - Attention by the warps of a CTA -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTIONLOOPS_H
#define ARK_PASSES_TARGET_ATTENTIONLOOPS_H

#include "passes/target/AttentionOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// Rows of queries that an instruction multiplies.
inline constexpr int64_t kBlockRows = 16;

/// How threads share an attention. Of few rows, warps take keys in turn. More
/// are blocks of 16, each with as many warps as there are parts of the keys.
struct AttentionShape {
  /// Nothing, if threads cannot have the shares that this needs, or not in that
  /// many bytes of shared memory. `run` is how many of it a lane does at most,
  /// one after the other.
  static std::optional<AttentionShape> choose(const AttentionOps &attention,
                                              int64_t threads, int64_t room,
                                              int64_t run);

  /// Bytes of shared memory for what the warps have of parts of the keys.
  int64_t getBytes() const;

  /// Whether rows are so few that they are columns of an instruction.
  bool hasFewRows() const { return rows <= kBlockRows / 2; }
  /// Whether a second loop puts together what warps have of a row.
  bool hasParts() const { return parts > 1 || hasFewRows(); }
  int64_t getBlocks() const { return (rows + kBlockRows - 1) / kBlockRows; }
  /// Keys of a block that a warp has at once.
  int64_t getStepKeys() const { return depth <= 32 ? 32 : 16; }

  /// Warps that share a vCTA, and groups of so many, each of which has other
  /// vCTAs.
  int64_t warps = 0, teams = 1;
  int64_t parts = 0, rows = 0, depth = 0;
  /// Elements of a load.
  int64_t width = 0;
};

/// Writes what takes the place of an attention at the builder's place, in two
/// loops over all threads: one over the keys, and one that puts together what
/// the warps have.
void createAttentionLoops(ImplicitLocOpBuilder &builder,
                          const AttentionOps &attention,
                          const AttentionShape &shape);

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTIONLOOPS_H
