//===- Timeline.h - Predicted times of a schedule ---------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_TIMELINE_H
#define ARK_LIB_ANALYSIS_TIMELINE_H

#include "lib/analysis/CostModel.h"
#include "lib/analysis/ExpandedSchedule.h"

namespace mlir::ark {

/// Predicted times in ns. Lanes and items are numbered as in
/// `ExpandedSchedule`: by lane op, and then by ascending SM.
struct Timeline {
  struct Item {
    double start = 0, duration = 0;
    double getEnd() const { return start + duration; }
  };

  std::vector<std::vector<Item>> lanes;
  /// All work items in a possible order of execution: by start, and every work
  /// item after the work items on which it depends.
  std::vector<ItemRef> order;

  const Item &at(ItemRef item) const { return lanes[item.lane][item.item]; }
  /// Returns the time at which the last lane ends.
  double getMakespan() const;
};

/// Predicts the times of a synchronised schedule. The duration of a wait is the
/// time for which the lane is blocked. Fails with an error if lanes wait for
/// each other.
FailureOr<Timeline> computeTimeline(ScheduleOp schedule);

/// The rate of a link while several SMs store to other ranks: an equal share
/// for each SM of a task, or one message after the other.
enum class LinkOrder { Share, Queue };

/// Predicts the times of a schedule without synchronisation: each work item
/// starts as soon as its lane and its dependences allow. Fails with an error if
/// the order of the lanes contradicts dependences.
FailureOr<Timeline> computeUnsynchronizedTimeline(
    const ExpandedSchedule &schedule, const Dependences &dependences,
    const WorkItemDependences &workItemDependences, const CostModel &costs,
    LinkOrder linkOrder = LinkOrder::Share);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_TIMELINE_H
