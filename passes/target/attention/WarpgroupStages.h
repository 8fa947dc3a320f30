//===- WarpgroupStages.h - Stages of keys and values ------------*- C++ -*-===//

#ifndef ARK_PASSES_TARGET_ATTENTION_WARPGROUPSTAGES_H
#define ARK_PASSES_TARGET_ATTENTION_WARPGROUPSTAGES_H

#include "passes/target/attention/AttentionThreadRows.h"

namespace mlir::ark {

/// The queries, keys and values of an attention in shared memory. All threads
/// of a CTA copy keys and values to stages with `cp.async`. A stage has 64
/// keys, then 64 values, for each warpgroup that shares the keys of a block.
/// Queries, keys and values are panels of 64 elements of the depth, in the
/// layout that `wgmma` reads: queries and keys have their rows along K of the
/// first product, and values across K of the second one.
class WarpgroupStages : public AttentionThreadRows {
public:
  using AttentionThreadRows::AttentionThreadRows;

protected:
  int64_t getPanels() const { return shape.depth / kPanelElements; }
  /// Sets the positions of the thread, and the rows of its warpgroup.
  void findThreads(Value thread);
  /// Sets the addresses of the operands.
  void findOperands(Value memory);
  void copyQueries();
  void copyStepIfExists(Value first, Value stage);

  /// A pointer to shared memory, and descriptors of the warpgroup's queries,
  /// and of the keys and values of the first stage.
  Value shared, queries, keys, values;
  /// The block of the warpgroup, the index of the warpgroup among those that
  /// share its keys, and the index of the thread in the warpgroup.
  Value block, keyGroup, inGroup;
  /// The thread's first key of a stage.
  Value firstKey;

private:
  /// The rows of keys or values that this thread copies, from the first key on.
  struct Source {
    Value pointer, rowBytes;
  };

  Source getSource(Value buffer);
  void copyKeys(Value first, Value stage);

  /// The first row that the thread copies, and its 16-byte unit of each row.
  Value copiedRow, copiedUnit;
  /// The index of the 16-byte unit in its row, after the swizzle.
  Value swizzledUnit;
  Source keySource, valueSource;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TARGET_ATTENTION_WARPGROUPSTAGES_H
