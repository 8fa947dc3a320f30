//===- LaneTimes.h - Partial schedules with times ---------------*- C++ -*-===//

#ifndef ARK_PASSES_SCHEDULING_LANETIMES_H
#define ARK_PASSES_SCHEDULING_LANETIMES_H

#include "passes/scheduling/Scheduler.h"

namespace mlir::ark {

/// The times at which the producers of some vCTAs end. The struct has the ends
/// of the last lane and of the second to last lane, and other lanes do not
/// matter: the vCTAs wait for a hand-off from the last lane or, if they run in
/// the last lane, for a hand-off from the second to last lane.
struct ProducerEnds {
  static constexpr unsigned kNoLane = ~0u;

  double last = 0, secondLast = 0;
  unsigned lastLane = kNoLane;
  unsigned lanes = 0;
  /// Cost of the hand-off to a lane that waits for other lanes.
  double handoff = 0;

  /// Returns the time from which the vCTAs can run in a lane other than
  /// `lastLane`.
  double getReadyElsewhere() const { return lanes == 0 ? 0 : last + handoff; }
  /// Returns the time from which the vCTAs can run in `lastLane`.
  double getReadyThere() const {
    return lanes <= 1 ? last : std::max(last, secondLast + handoff);
  }
  double getReady(unsigned lane) const {
    return lane == lastLane ? getReadyThere() : getReadyElsewhere();
  }
};

/// A partial schedule: the work items placed so far, with their expected times.
class LaneTimes {
public:
  struct WorkItem {
    unsigned task;
    int64_t begin, end;
    double startTime, endTime;
  };
  /// An interval in which a lane is idle; the last interval never ends.
  struct Gap {
    double begin, end;
  };

  LaneTimes(size_t lanes, size_t tasks)
      : lanes(lanes), loads(lanes), workItemsOf(tasks) {}

  size_t getNumLanes() const { return lanes.size(); }
  /// Returns the gaps of a lane that end after a time.
  SmallVector<Gap> getGaps(unsigned lane, double after) const;
  /// Returns the sum of the times of a lane's work items.
  double getLoad(unsigned lane) const { return loads[lane]; }
  double getEnd(unsigned lane) const {
    return lanes[lane].empty() ? 0 : lanes[lane].back().endTime;
  }

  void add(unsigned lane, const WorkItem &workItem);
  /// Must be called after all work items of a task were added.
  void finishTask(unsigned task);

  /// Returns the times at which vCTAs of a finished task end.
  ProducerEnds getEnds(unsigned task, ArrayRef<Interval> vctas) const;

  ScheduledLanes take() const;

private:
  struct TaskWorkItem {
    int64_t begin, end;
    unsigned lane;
    double endTime;
  };

  /// Work items of every lane, sorted by time.
  std::vector<std::vector<WorkItem>> lanes;
  std::vector<double> loads;
  /// Work items of every task, sorted by vCTA.
  std::vector<std::vector<TaskWorkItem>> workItemsOf;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_LANETIMES_H
