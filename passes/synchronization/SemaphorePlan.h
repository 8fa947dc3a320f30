//===- SemaphorePlan.h - Plan the signals and waits of lanes ----*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_SEMAPHOREPLAN_H
#define ARK_PASSES_SYNCHRONIZATION_SEMAPHOREPLAN_H

#include "lib/analysis/Timeline.h"

namespace mlir::ark {

/// A counter. Every signal directly follows its item, and every wait directly
/// precedes its item.
struct PlannedSemaphore {
  /// The producing task, from which the semaphore gets its name.
  unsigned task;
  /// At most one item per lane, by ascending lane.
  SmallVector<ItemRef> signals;
  SmallVector<ItemRef> waits;
  /// True if every lane runs nothing between its signal and its wait: both
  /// become one barrier.
  bool isBarrier = false;
};

struct SemaphorePlan {
  /// Semaphores in the order of their first signals.
  std::vector<PlannedSemaphore> semaphores;
  /// Number of pairs of a work item and a producing task that need order
  /// between lanes, and number of these pairs that other waits imply.
  int64_t numDependences = 0, numImplied = 0;
};

/// Input of the planner.
struct SynchronizationInput {
  const ExpandedSchedule &schedule;
  const Dependences &dependences;
  const WorkItemDependences &workItemDependences;
  const CostModel &costs;
  /// Predicted times without synchronisation. The schedule can execute all work
  /// items in the order of the timeline.
  const Timeline &timeline;
  /// Maximum number of semaphores between two tasks.
  unsigned maxSemaphores;
};

/// Returns semaphores that order all dependences, without redundant waits and
/// signals.
SemaphorePlan planSemaphores(const SynchronizationInput &input);

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_SEMAPHOREPLAN_H
