//===- AttentionLoops.h - Attention by the warps of a CTA -------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTIONLOOPS_H
#define ARK_PASSES_TARGET_ATTENTIONLOOPS_H

#include "passes/target/AttentionOps.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace mlir::ark {

/// How threads share an attention: warps take keys in turn, for all rows.
struct AttentionShape {
  /// Nothing, if threads cannot have the shares that this needs.
  static std::optional<AttentionShape> choose(const AttentionOps &attention,
                                              int64_t threads);

  /// Bytes of shared memory for what the warps have.
  int64_t getBytes() const;

  int64_t warps = 0, rows = 0, depth = 0;
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
