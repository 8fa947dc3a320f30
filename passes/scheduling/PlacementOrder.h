//===- PlacementOrder.h - Order in which tasks get lanes --------*- C++ -*-===//

#ifndef ARK_PASSES_SCHEDULING_PLACEMENTORDER_H
#define ARK_PASSES_SCHEDULING_PLACEMENTORDER_H

#include "passes/scheduling/Scheduler.h"

namespace mlir::ark {

/// Returns all tasks in the order in which the list scheduler places them: by
/// the units of a pipeline, and then by the longest path to the end of the
/// program. A task follows its producers.
SmallVector<unsigned> orderForPlacement(const SchedulerInput &input);

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_PLACEMENTORDER_H
