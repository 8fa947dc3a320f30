//===- Schedule.cpp - Passes that run a scheduler -------------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/scheduling/Passes.h"
#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/StringExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SCHEDULEPASS
#define GEN_PASS_DEF_SCHEDULEROUNDROBINPASS
#include "passes/scheduling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct SchedulePass : ark::impl::SchedulePassBase<SchedulePass> {
  using SchedulePassBase::SchedulePassBase;

  void runOnOperation() override {
    const Scheduler *found = findScheduler(scheduler);
    if (!found) {
      emitError(getOperation().getLoc())
          << "unknown scheduler '" << scheduler.getValue()
          << "': expected one of " << llvm::join(getSchedulerNames(), ", ");
      return signalPassFailure();
    }
    FailureOr<ScheduleOp> schedule = scheduleProgram(getOperation(), *found);
    if (failed(schedule))
      return signalPassFailure();
    countItems(*schedule);
  }

  void countItems(ScheduleOp schedule) {
    for (auto lane : schedule.getBody().getOps<LaneOp>()) {
      ++numLanes;
      numRuns += llvm::range_size(lane.getBody().getOps<RunOp>()) *
                 (lane.getSmEnd() - lane.getSmBegin());
    }
  }
};

struct ScheduleRoundRobinPass
    : ark::impl::ScheduleRoundRobinPassBase<ScheduleRoundRobinPass> {
  void runOnOperation() override {
    if (failed(scheduleProgram(getOperation(), getRoundRobinScheduler())))
      signalPassFailure();
  }
};
} // namespace
