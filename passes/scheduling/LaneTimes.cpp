//===- LaneTimes.cpp - Partial schedules with times -----------------------===//

#include "passes/scheduling/LaneTimes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

SmallVector<LaneTimes::Gap> LaneTimes::getGaps(unsigned lane,
                                               double after) const {
  ArrayRef<Run> runs = lanes[lane];
  // Work items of a lane do not overlap, so they are also sorted by their ends.
  auto next = llvm::partition_point(
      runs, [&](const Run &run) { return run.endTime <= after; });
  double begin = next == runs.begin() ? 0 : std::prev(next)->endTime;
  SmallVector<Gap> gaps;
  for (; next != runs.end(); ++next) {
    if (next->startTime > std::max(begin, after))
      gaps.push_back({begin, next->startTime});
    begin = next->endTime;
  }
  gaps.push_back({begin, std::numeric_limits<double>::infinity()});
  return gaps;
}

void LaneTimes::add(unsigned lane, const Run &run) {
  std::vector<Run> &runs = lanes[lane];
  // Inserts the work item after all work items that start no later. These were
  // placed earlier, and the new work item may depend on them.
  auto at =
      llvm::upper_bound(runs, run.startTime, [](double time, auto &other) {
        return time < other.startTime;
      });
  runs.insert(at, run);
  loads[lane] += run.endTime - run.startTime;
  runsOf[run.task].push_back({run.begin, run.end, lane, run.endTime});
}

void LaneTimes::finishTask(unsigned task) {
  llvm::sort(runsOf[task], [](const TaskRun &a, const TaskRun &b) {
    return a.begin < b.begin;
  });
}

ProducerEnds LaneTimes::getEnds(unsigned task, ArrayRef<Interval> vctas) const {
  ProducerEnds ends;
  ArrayRef<TaskRun> runs = runsOf[task];
  SmallVector<unsigned> seen;
  for (auto [begin, end] : vctas) {
    auto endsBefore = [begin = begin](const TaskRun &run) {
      return run.end <= begin;
    };
    for (auto run = llvm::partition_point(runs, endsBefore);
         run != runs.end() && run->begin < end; ++run) {
      if (!llvm::is_contained(seen, run->lane))
        seen.push_back(run->lane);
      if (run->lane == ends.lastLane) {
        ends.last = std::max(ends.last, run->endTime);
      } else if (ends.lastLane == ProducerEnds::kNoLane ||
                 run->endTime > ends.last) {
        ends.secondLast = ends.last;
        ends.last = run->endTime;
        ends.lastLane = run->lane;
      } else {
        ends.secondLast = std::max(ends.secondLast, run->endTime);
      }
    }
  }
  ends.lanes = seen.size();
  return ends;
}

ScheduledLanes LaneTimes::take() const {
  ScheduledLanes result;
  for (const std::vector<Run> &runs : lanes) {
    std::vector<ScheduledRun> &lane = result.emplace_back();
    for (const Run &run : runs) {
      // Work items that are adjacent in time and in the grid become one.
      if (!lane.empty() && lane.back().task == run.task &&
          lane.back().end == run.begin)
        lane.back().end = run.end;
      else
        lane.push_back({run.task, run.begin, run.end});
    }
  }
  return result;
}
