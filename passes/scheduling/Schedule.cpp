//===- Schedule.cpp - Passes that run a scheduler -------------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/scheduling/Passes.h"
#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/StringExtras.h"

namespace mlir::ark {
#define GEN_PASS_DEF_SCHEDULELISTPASS
#define GEN_PASS_DEF_SCHEDULEPASS
#define GEN_PASS_DEF_SCHEDULEROUNDROBINPASS
#include "passes/scheduling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
/// Statistics that all scheduling passes report.
struct ScheduleCounts {
  int64_t lanes = 0, workItems = 0;
};
} // namespace

static FailureOr<ScheduleCounts> schedule(ProgramOp program,
                                          const Scheduler &scheduler) {
  FailureOr<ScheduleOp> schedule = scheduleProgram(program, scheduler);
  if (failed(schedule))
    return failure();
  ScheduleCounts counts;
  for (auto lane : schedule->getBody().getOps<LaneOp>()) {
    ++counts.lanes;
    counts.workItems += llvm::range_size(lane.getBody().getOps<RunOp>()) *
                        (lane.getSmEnd() - lane.getSmBegin());
  }
  return counts;
}

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
    FailureOr<ScheduleCounts> counts = schedule(getOperation(), *found);
    if (failed(counts))
      return signalPassFailure();
    numLanes += counts->lanes;
    numRuns += counts->workItems;
  }
};

struct ScheduleListPass : ark::impl::ScheduleListPassBase<ScheduleListPass> {
  void runOnOperation() override {
    FailureOr<ScheduleCounts> counts =
        schedule(getOperation(), getListScheduler());
    if (failed(counts))
      return signalPassFailure();
    numLanes += counts->lanes;
    numRuns += counts->workItems;
  }
};

struct ScheduleRoundRobinPass
    : ark::impl::ScheduleRoundRobinPassBase<ScheduleRoundRobinPass> {
  void runOnOperation() override {
    FailureOr<ScheduleCounts> counts =
        schedule(getOperation(), getRoundRobinScheduler());
    if (failed(counts))
      return signalPassFailure();
    numLanes += counts->lanes;
    numRuns += counts->workItems;
  }
};
} // namespace
