//===- BalanceGrowing.cpp - Equal shares of tasks whose vCTAs grow --------===//
//
// In a causal attention, vCTAs of later queries take longer. Schedulers divide
// the vCTAs of a task into equal ranges, as if all vCTAs took the same time.
// This file reinterprets the ranges of growing tasks as positions in the order
// first, last, second, second to last, and so on. Equal ranges of this order
// take nearly the same time.
//
//===----------------------------------------------------------------------===//

#include "passes/scheduling/Scheduler.h"

#include "dialects/ark/ArkMeasurements.h"

using namespace mlir;
using namespace mlir::ark;

/// Appends the vCTAs at the positions of a work item: a range from the
/// beginning of the task, and a range from its end. Either range may be empty.
/// Both are appended so that the lanes of all SMs have the same items.
static void appendPairs(std::vector<ScheduledWorkItem> &lane,
                        const ScheduledWorkItem &workItem, int64_t count) {
  lane.push_back(
      {workItem.task, (workItem.begin + 1) / 2, (workItem.end + 1) / 2});
  lane.push_back(
      {workItem.task, count - workItem.end / 2, count - workItem.begin / 2});
}

ScheduledLanes mlir::ark::balanceGrowing(const SchedulerInput &input,
                                         ScheduledLanes lanes) {
  ArrayRef<TaskOp> tasks = input.dependences.getTasks();
  auto isGrowing = [&](const ScheduledWorkItem &workItem) {
    // Without synchronisation, a task stays in the lanes of its producers.
    return tasks[workItem.task]->hasAttr(kGrowingAttr) &&
           input.placement.pins[workItem.task].sync;
  };
  for (std::vector<ScheduledWorkItem> &lane : lanes) {
    if (llvm::none_of(lane, isGrowing))
      continue;
    std::vector<ScheduledWorkItem> balanced;
    for (const ScheduledWorkItem &workItem : lane) {
      if (isGrowing(workItem))
        appendPairs(balanced, workItem,
                    TaskOp(tasks[workItem.task]).getNumVCTAs());
      else
        balanced.push_back(workItem);
    }
    lane = std::move(balanced);
  }
  return lanes;
}
