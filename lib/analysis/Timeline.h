//===- Timeline.h - When every item of a schedule runs ----------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_TIMELINE_H
#define ARK_LIB_ANALYSIS_TIMELINE_H

#include "lib/analysis/CostModel.h"
#include "lib/analysis/ExpandedSchedule.h"

namespace mlir::ark {

/// Predicted times in ns, lanes and items as in `ExpandedSchedule`: for every
/// lane op in order and every SM of it, ascending.
struct Timeline {
  struct Item {
    double start = 0, duration = 0;
    double getEnd() const { return start + duration; }
  };

  std::vector<std::vector<Item>> lanes;
  /// All run items in an order in which they may have begun: by start, and one
  /// after those that it depends on.
  std::vector<ItemRef> order;

  const Item &at(ItemRef item) const { return lanes[item.lane][item.item]; }
  /// When the last lane ends.
  double getMakespan() const;
};

/// The times of a synchronised schedule. The duration of a wait is the time for
/// which the lane stands still. Fails with an error where lanes wait for each
/// other.
FailureOr<Timeline> computeTimeline(ScheduleOp schedule);

/// The times of runs alone, each as soon as its lane and its dependences allow.
/// Fails with an error where the order of the lanes contradicts dependences.
FailureOr<Timeline> computeUnsynchronizedTimeline(
    const ExpandedSchedule &schedule, const Dependences &dependences,
    const RunDependences &runDependences, const CostModel &costs);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_TIMELINE_H
