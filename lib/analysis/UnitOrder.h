//===- UnitOrder.h - Orders of tasks that keep units together ---*- C++ -*-===//
//
// In a pipeline, each rank executes its units one after the other. The orders
// of this file keep all dependences, and the order of the units of each rank
// where the dependences permit it.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_ANALYSIS_UNITORDER_H
#define ARK_LIB_ANALYSIS_UNITORDER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

/// A task to order.
struct UnitTask {
  int64_t rank = 0;
  /// Position of the unit of the task among the units of its rank; nothing for
  /// a task without a microbatch.
  std::optional<unsigned> unit;
  /// The ready task with the least priority comes next.
  double priority = 0;
};

/// Returns all tasks, each after its predecessors. A task with a unit comes
/// after all tasks of earlier units of its rank, unless they depend on it.
SmallVector<unsigned>
orderByUnits(ArrayRef<UnitTask> tasks,
             ArrayRef<SmallVector<unsigned>> predecessors);

/// Returns the position of the unit of each task among the units of its rank,
/// in the order of the first task of each unit. Fails with an error at a task
/// whose plan names no valid unit.
FailureOr<SmallVector<std::optional<unsigned>>>
numberUnits(ArrayRef<TaskOp> tasks);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_UNITORDER_H
