//===- SiblingTasks.h - Tasks that read the same region ---------*- C++ -*-===//

#ifndef ARK_PASSES_TILING_FUSION_SIBLINGTASKS_H
#define ARK_PASSES_TILING_FUSION_SIBLINGTASKS_H

#include "dialects/ark/ArkOps.h"

#include "llvm/ADT/DenseMap.h"
#include <map>
#include <tuple>

namespace mlir::ark {

/// The properties that decide whether a task may be fused with an independent
/// task. The properties do not depend on the inputs that the tasks share.
struct TaskLoad {
  /// Structured ops of the body.
  int64_t numOps = 0;
  /// Slices that the body inserts into tensors.
  int64_t numInsertions = 0;
  /// True if a vCTA takes no longer than the hand-off that fusing saves.
  bool isSmall = false;
  /// Bytes of the large temporaries of a vCTA.
  int64_t largeTemporaries = 0;
  /// Bytes of the stages of products whose operands are split into bf16 terms.
  int64_t splitStages = 0;
  /// True if an op of the body multiplies matrices in a loop of its own, as an
  /// attention does.
  bool hasProductLoop = false;

  bool operator<(const TaskLoad &other) const {
    return std::tie(numOps, numInsertions, isSmall, largeTemporaries,
                    splitStages, hasProductLoop) <
           std::tie(other.numOps, other.numInsertions, other.isSmall,
                    other.largeTemporaries, other.splitStages,
                    other.hasProductLoop);
  }
};

/// An index of siblings: tasks of a block that read the same region of a
/// tensor. A user visits all tasks from the last to the first. Many tasks may
/// share an input, and most of them may depend on each other, such as all
/// layers that read one table. For this reason, the index groups tasks by load,
/// and `visit` skips a whole chain of tasks that depend on each other.
class SiblingTasks {
public:
  using GetLoad = llvm::function_ref<TaskLoad(TaskOp)>;

  /// Adds the tasks for which `isCandidate` returns true.
  SiblingTasks(Block &block, llvm::function_ref<bool(TaskOp)> isCandidate,
               GetLoad getLoad);

  /// Removes a task that was visited, moved, or is about to be erased.
  void remove(TaskOp task);

  /// Calls `fuse` for `producers`, the tasks that produce an input of `second`,
  /// and for all other tasks before `second` that share an input with `second`
  /// and whose load `isAccepted`. The nearest task comes first. Stops and
  /// returns true as soon as a call returns true.
  ///
  /// Skips tasks that share an input with `second` if `second` depends on them
  /// through other tasks.
  bool visit(TaskOp second, ArrayRef<TaskOp> producers,
             llvm::function_ref<bool(const TaskLoad &)> isAccepted,
             llvm::function_ref<bool(TaskOp)> fuse);

private:
  /// The properties that tasks must have in common: an input, its region, the
  /// grid, the warps and the plan.
  using Key = std::tuple<Value, Attribute, Attribute, Attribute, Attribute>;
  /// Maps the position of each task to the position at which its chain begins:
  /// from there on, each task of the list depends on the previous one.
  using Positions = std::map<unsigned, unsigned>;
  struct Cursor {
    unsigned position;
    Positions *list; // null for a producer
    bool operator<(const Cursor &other) const {
      return position < other.position;
    }
  };

  static llvm::SmallVector<Key> getKeys(TaskOp task);
  unsigned getChainBegin(Positions &list, Positions::iterator it);
  std::optional<Cursor> getPrevious(Positions &list, unsigned position);

  /// Null for tasks that were removed.
  SmallVector<TaskOp> tasks;
  llvm::DenseMap<Operation *, unsigned> positions;
  llvm::DenseMap<Key, std::map<TaskLoad, Positions>> siblings;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_FUSION_SIBLINGTASKS_H
