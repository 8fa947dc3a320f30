//===- GroupTiler.h - Build the task of one group ---------------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_TASKS_GROUPTILER_H
#define ARK_PASSES_TILING_TASKS_GROUPTILER_H

#include "passes/tiling/tasks/TileGrid.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Rewrite/FrozenRewritePatternSet.h"

namespace mlir::ark {

/// The write of a group that updates a state: all of `value`, at `offsets`.
struct StateUpdate {
  Value value;
  BlockArgument state;
  SmallVector<OpFoldResult> offsets;
  /// Set if each tile is an interleaved partition of the state: the dimension
  /// of the state's rows, and the number of partitions. In the task, the state
  /// has an additional dimension for the partitions after the rows.
  std::optional<int64_t> interleavedDim = std::nullopt;
  int64_t numPartitions = 1;

  bool isRow(int64_t dim) const {
    return interleavedDim && dim == *interleavedDim;
  }
  bool isPartitionDim(int64_t dim) const {
    return interleavedDim && dim == *interleavedDim + 1;
  }
  /// Returns the dimension of the value that corresponds to a dimension of the
  /// task.
  int64_t getValueDim(int64_t dim) const {
    return interleavedDim && dim > *interleavedDim ? dim - 1 : dim;
  }
};

/// Builds the task of one group. Its vCTAs compute a tile of the result each.
class GroupTiler {
public:
  GroupTiler(RewriterBase &rewriter, GroupOp group);

  /// Returns the task, whose vCTAs are `warps` warps wide. Replaces the group.
  /// Emits an error and fails if the body cannot be tiled.
  FailureOr<TaskOp> run(int64_t warps, const FrozenRewritePatternSet &cleanup);

private:
  Value createOut();
  RegionAttr getOutRegion();
  TaskOp createTask(int64_t warps);
  void createBody(TaskOp task);
  SmallVector<OpFoldResult> getUpdateOffsets(ValueRange indices);
  Value countRows(ValueRange indices);
  void resolveTileOffsets(TaskOp task);
  void replaceGroup(TaskOp task);

  RewriterBase &rewriter;
  GroupOp group;
  Location loc;
  /// The value that vCTAs compute in tiles: the yielded value or, if the group
  /// updates a state, the inserted value.
  Value root;
  std::optional<StateUpdate> update;
  /// Type of the task's result.
  RankedTensorType type;
  TileGrid grid;
};

/// Simplifies the body of a task that computes one tile, and lets the body
/// compute in the tile of its out. `cleanup` are patterns that canonicalize the
/// ops of bodies.
LogicalResult completeBody(RewriterBase &rewriter, TaskOp task,
                           const FrozenRewritePatternSet &cleanup);

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_TASKS_GROUPTILER_H
