//===- SemaphorePlan.h - Which lanes signal and wait ------------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_SEMAPHOREPLAN_H
#define ARK_PASSES_SYNCHRONIZATION_SEMAPHOREPLAN_H

#include "lib/analysis/Timeline.h"

namespace mlir::ark {

/// One counter: every signal comes right after its item, every wait right
/// before it.
struct PlannedSemaphore {
  /// The task that is handed over, after which the semaphore is named.
  unsigned task;
  /// By ascending lane, at most one a lane.
  SmallVector<ItemRef> signals;
  SmallVector<ItemRef> waits;
  /// Every lane does nothing between its signal and its wait: one barrier.
  bool isBarrier = false;
};

struct SemaphorePlan {
  /// In the order in which they are first signalled.
  std::vector<PlannedSemaphore> semaphores;
  /// Pairs of a run and a producing task that need order between lanes, and
  /// those of them that other waits imply.
  int64_t numDependences = 0, numImplied = 0;
};

/// What a plan is made from.
struct SynchronizationInput {
  const ExpandedSchedule &schedule;
  const Dependences &dependences;
  const RunDependences &runDependences;
  const CostModel &costs;
  /// Without synchronisation; its order is one in which all runs can happen.
  const Timeline &timeline;
  /// Semaphores between one pair of tasks, at most.
  unsigned maxSemaphores;
};

/// Semaphores that order all dependences, without a wait or a signal that could
/// be left out.
SemaphorePlan planSemaphores(const SynchronizationInput &input);

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_SEMAPHOREPLAN_H
