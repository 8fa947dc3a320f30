//===- EmitSynchronization.h - A semaphore plan as IR -----------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_EMITSYNCHRONIZATION_H
#define ARK_PASSES_SYNCHRONIZATION_EMITSYNCHRONIZATION_H

#include "passes/synchronization/SemaphorePlan.h"

namespace mlir::ark {

/// Items of all lanes after synchronisation.
struct SynchronizationCounts {
  int64_t waits = 0, signals = 0, barriers = 0, semaphores = 0;
};

/// Rewrites the lanes of a schedule with the semaphores of a plan, and with the
/// barrier at the end of every lane that separates iterations. Lanes without
/// work go away.
SynchronizationCounts emitSynchronization(const ExpandedSchedule &schedule,
                                          const Dependences &dependences,
                                          const SemaphorePlan &plan);

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_EMITSYNCHRONIZATION_H
