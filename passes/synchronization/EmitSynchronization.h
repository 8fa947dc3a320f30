//===- EmitSynchronization.h - Emit a semaphore plan as IR ------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_EMITSYNCHRONIZATION_H
#define ARK_PASSES_SYNCHRONIZATION_EMITSYNCHRONIZATION_H

#include "passes/synchronization/SemaphorePlan.h"

namespace mlir::ark {

/// Number of items in all lanes after synchronisation.
struct SynchronizationCounts {
  int64_t waits = 0, signals = 0, barriers = 0, semaphores = 0;
};

/// Rewrites the lanes of a schedule with the semaphores of a plan, and adds the
/// barrier at the end of every lane that separates iterations. Lanes without
/// work are removed.
SynchronizationCounts emitSynchronization(const ExpandedSchedule &schedule,
                                          const Dependences &dependences,
                                          const SemaphorePlan &plan);

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_EMITSYNCHRONIZATION_H
