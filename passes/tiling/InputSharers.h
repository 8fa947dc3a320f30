//===- InputSharers.h - Tasks that read the same part of a tensor ---------===//

#ifndef ARK_PASSES_TILING_INPUTSHARERS_H
#define ARK_PASSES_TILING_INPUTSHARERS_H

#include "dialects/ark/ArkOps.h"

#include "llvm/ADT/DenseMap.h"
#include <map>
#include <tuple>

namespace mlir::ark {

/// The properties of a task that decide, whatever the task reads, if it may be
/// fused with a task beside which it could run.
struct TaskLoad {
  /// Structured ops of the body.
  int64_t numOps = 0;
  /// True if a vCTA takes no longer than the hand-off that fusing saves.
  bool isSmall = false;
  /// Bytes of the large temporaries of a vCTA.
  int64_t largeTemporaries = 0;

  bool operator<(const TaskLoad &other) const {
    return std::tie(numOps, isSmall, largeTemporaries) <
           std::tie(other.numOps, other.isSmall, other.largeTemporaries);
  }
};

/// Returns true if `second`, which comes later in the block, depends on `first`
/// directly or through ops between them.
bool dependsOn(Operation *second, Operation *first);

/// The tasks of a block that read the same part of a tensor, for one visit of
/// all tasks from the last to the first. Many tasks may share an input, and
/// most of these may depend on each other, such as all layers that read one
/// table. So this class indexes tasks by their loads, and skips a chain of
/// tasks that depend on each other as a whole.
class InputSharers {
public:
  using GetLoad = llvm::function_ref<TaskLoad(TaskOp)>;

  /// Files the tasks for which `isCandidate` holds.
  InputSharers(Block &block, llvm::function_ref<bool(TaskOp)> isCandidate,
               GetLoad getLoad);

  /// Removes a task that was visited, moved, or is about to be erased.
  void remove(TaskOp task);

  /// Calls `fuse` for `producers`, the tasks before `second` whose results
  /// `second` reads, and for all other tasks before `second` that share an
  /// input with `second` and whose load is accepted. The nearest task comes
  /// first. Stops when `fuse` returns true. Returns true if a call returned
  /// true.
  ///
  /// Skips tasks that share an input with `second` if `second` depends on them
  /// through other tasks.
  bool visit(TaskOp second, ArrayRef<TaskOp> producers,
             llvm::function_ref<bool(const TaskLoad &)> isAccepted,
             llvm::function_ref<bool(TaskOp)> fuse);

private:
  /// An input, its region, and the grid, warps and plan that tasks must have in
  /// common.
  using Key = std::tuple<Value, Attribute, Attribute, Attribute, Attribute>;
  /// The positions of tasks, each with the first position of a chain that ends
  /// there: all listed tasks from that position on depend on each other.
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
  llvm::DenseMap<Key, std::map<TaskLoad, Positions>> sharers;
};

} // namespace mlir::ark

#endif // ARK_PASSES_TILING_INPUTSHARERS_H
