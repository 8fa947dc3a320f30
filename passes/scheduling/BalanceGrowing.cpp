//===- BalanceGrowing.cpp - Equal shares of tasks whose vCTAs grow --------===//
//
// A causal attention has longer vCTAs for later queries. Schedulers divide the
// vCTAs of a task into equal ranges, as if all took the same time. This file
// exchanges the ranges of growing tasks: a range of positions in the order
// first, last, second, second to last, and so on, has nearly the same time
// wherever it begins.
//
//===----------------------------------------------------------------------===//

#include "passes/scheduling/Scheduler.h"

#include "dialects/ark/ArkMeasurements.h"

using namespace mlir;
using namespace mlir::ark;

/// Appends the vCTAs at the positions of a run: those from the beginning of the
/// task, and those from its end. Both ranges may be empty, so that the items of
/// all SMs stay alike.
static void appendPairs(std::vector<ScheduledRun> &lane,
                        const ScheduledRun &run, int64_t count) {
  lane.push_back({run.task, (run.begin + 1) / 2, (run.end + 1) / 2});
  lane.push_back({run.task, count - run.end / 2, count - run.begin / 2});
}

ScheduledLanes mlir::ark::balanceGrowing(const SchedulerInput &input,
                                         ScheduledLanes lanes) {
  ArrayRef<TaskOp> tasks = input.dependences.getTasks();
  auto isGrowing = [&](const ScheduledRun &run) {
    // Without synchronisation, a task stays in the lanes of its producers.
    return tasks[run.task]->hasAttr(kGrowingAttr) &&
           input.placement.pins[run.task].sync;
  };
  for (std::vector<ScheduledRun> &lane : lanes) {
    if (llvm::none_of(lane, isGrowing))
      continue;
    std::vector<ScheduledRun> balanced;
    for (const ScheduledRun &run : lane) {
      if (isGrowing(run))
        appendPairs(balanced, run, TaskOp(tasks[run.task]).getNumVCTAs());
      else
        balanced.push_back(run);
    }
    lane = std::move(balanced);
  }
  return lanes;
}
