//===- LaneTimes.h - Partial schedules with times ---------------*- C++ -*-===//

#ifndef ARK_PASSES_SCHEDULING_LANETIMES_H
#define ARK_PASSES_SCHEDULING_LANETIMES_H

#include "passes/scheduling/Scheduler.h"

namespace mlir::ark {

/// When the producers of some vCTAs end, and where. Two lanes tell enough: the
/// vCTAs may run in the one that ends last, where no hand-off is needed.
struct ProducerEnds {
  static constexpr unsigned kNoLane = ~0u;

  double last = 0, secondLast = 0;
  unsigned lastLane = kNoLane;
  unsigned lanes = 0;
  /// To a lane that has to wait for the others.
  double handoff = 0;

  /// When the vCTAs can run in a lane other than `lastLane`.
  double getReadyElsewhere() const { return lanes == 0 ? 0 : last + handoff; }
  /// When they can run in `lastLane`.
  double getReadyThere() const {
    return lanes <= 1 ? last : std::max(last, secondLast + handoff);
  }
  double getReady(unsigned lane) const {
    return lane == lastLane ? getReadyThere() : getReadyElsewhere();
  }
};

/// Runs placed so far, each with the time when it is expected to run.
class LaneTimes {
public:
  struct Run {
    unsigned task;
    int64_t begin, end;
    double startTime, endTime;
  };
  /// A stretch in which a lane has nothing to do; the last one never ends.
  struct Gap {
    double begin, end;
  };

  LaneTimes(size_t lanes, size_t tasks)
      : lanes(lanes), loads(lanes), runsOf(tasks) {}

  size_t getNumLanes() const { return lanes.size(); }
  /// Gaps of a lane that end after a time.
  SmallVector<Gap> getGaps(unsigned lane, double after) const;
  /// Sum of the runs of a lane.
  double getLoad(unsigned lane) const { return loads[lane]; }
  double getEnd(unsigned lane) const {
    return lanes[lane].empty() ? 0 : lanes[lane].back().endTime;
  }

  void add(unsigned lane, const Run &run);
  /// Call when all runs of a task were added.
  void finishTask(unsigned task);

  /// Where the vCTAs of a finished task end.
  ProducerEnds getEnds(unsigned task, ArrayRef<Interval> vctas) const;

  ScheduledLanes take() const;

private:
  struct TaskRun {
    int64_t begin, end;
    unsigned lane;
    double endTime;
  };

  /// By time.
  std::vector<std::vector<Run>> lanes;
  std::vector<double> loads;
  /// By vCTA.
  std::vector<std::vector<TaskRun>> runsOf;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_LANETIMES_H
