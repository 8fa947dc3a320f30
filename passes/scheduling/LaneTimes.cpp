//===- LaneTimes.cpp - Partial schedules with times -----------------------===//

#include "passes/scheduling/LaneTimes.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

SmallVector<LaneTimes::Gap> LaneTimes::getGaps(unsigned lane,
                                               double after) const {
  ArrayRef<WorkItem> workItems = lanes[lane];
  // Work items of a lane do not overlap, so they are also sorted by their ends.
  auto next = llvm::partition_point(workItems, [&](const WorkItem &workItem) {
    return workItem.endTime <= after;
  });
  double begin = next == workItems.begin() ? 0 : std::prev(next)->endTime;
  SmallVector<Gap> gaps;
  for (; next != workItems.end(); ++next) {
    if (next->startTime > std::max(begin, after))
      gaps.push_back({begin, next->startTime});
    begin = next->endTime;
  }
  gaps.push_back({begin, std::numeric_limits<double>::infinity()});
  return gaps;
}

void LaneTimes::add(unsigned lane, const WorkItem &workItem) {
  std::vector<WorkItem> &workItems = lanes[lane];
  // Inserts the work item after all work items that start no later. Such work
  // items were placed earlier, and the new work item may depend on them.
  auto at = llvm::upper_bound(
      workItems, workItem.startTime,
      [](double time, auto &other) { return time < other.startTime; });
  workItems.insert(at, workItem);
  loads[lane] += workItem.endTime - workItem.startTime;
  workItemsOf[workItem.task].push_back(
      {workItem.begin, workItem.end, lane, workItem.endTime});
}

void LaneTimes::finishTask(unsigned task) {
  llvm::sort(workItemsOf[task],
             [](const TaskWorkItem &a, const TaskWorkItem &b) {
               return a.begin < b.begin;
             });
}

ProducerEnds LaneTimes::getEnds(unsigned task, ArrayRef<Interval> vctas) const {
  ProducerEnds ends;
  ArrayRef<TaskWorkItem> workItems = workItemsOf[task];
  SmallVector<unsigned> seen;
  for (auto [begin, end] : vctas) {
    auto endsBefore = [begin = begin](const TaskWorkItem &workItem) {
      return workItem.end <= begin;
    };
    for (auto workItem = llvm::partition_point(workItems, endsBefore);
         workItem != workItems.end() && workItem->begin < end; ++workItem) {
      if (!llvm::is_contained(seen, workItem->lane))
        seen.push_back(workItem->lane);
      if (workItem->lane == ends.lastLane) {
        ends.last = std::max(ends.last, workItem->endTime);
      } else if (ends.lastLane == ProducerEnds::kNoLane ||
                 workItem->endTime > ends.last) {
        ends.secondLast = ends.last;
        ends.last = workItem->endTime;
        ends.lastLane = workItem->lane;
      } else {
        ends.secondLast = std::max(ends.secondLast, workItem->endTime);
      }
    }
  }
  ends.lanes = seen.size();
  return ends;
}

ScheduledLanes LaneTimes::take() const {
  ScheduledLanes result;
  for (const std::vector<WorkItem> &workItems : lanes) {
    std::vector<ScheduledWorkItem> &lane = result.emplace_back();
    for (const WorkItem &workItem : workItems) {
      // Work items that are adjacent in time and in the grid become one.
      if (!lane.empty() && lane.back().task == workItem.task &&
          lane.back().end == workItem.begin)
        lane.back().end = workItem.end;
      else
        lane.push_back({workItem.task, workItem.begin, workItem.end});
    }
  }
  return result;
}
