//===- InsertSynchronization.cpp - Insert semaphores into a schedule ------===//

#include "passes/synchronization/EmitSynchronization.h"
#include "passes/synchronization/Passes.h"
#include "passes/synchronization/SemaphorePlan.h"

#include <cmath>

namespace mlir::ark {
#define GEN_PASS_DEF_INSERTSYNCHRONIZATIONPASS
#include "passes/synchronization/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct InsertSynchronizationPass
    : ark::impl::InsertSynchronizationPassBase<InsertSynchronizationPass> {
  using InsertSynchronizationPassBase::InsertSynchronizationPassBase;

  void runOnOperation() override {
    for (auto schedule : getOperation().getBody().getOps<ScheduleOp>()) {
      // The schedule was synchronised by hand or by an earlier run.
      if (!schedule.getBody().getOps<SemaphoreOp>().empty())
        continue;
      if (failed(synchronize(schedule)))
        return signalPassFailure();
    }
  }

  LogicalResult synchronize(ScheduleOp schedule);
};
} // namespace

LogicalResult InsertSynchronizationPass::synchronize(ScheduleOp schedule) {
  if (maxSemaphores == 0)
    return schedule.emitOpError("needs max-semaphores of one or more");
  FailureOr<Dependences> dependences = Dependences::compute(getOperation());
  if (failed(dependences))
    return failure();
  CostModel costs(getOperation(), schedule.getSms());
  ExpandedSchedule expanded(schedule);
  FailureOr<Timeline> timeline = computeUnsynchronizedTimeline(
      expanded, *dependences, WorkItemDependences(expanded, *dependences),
      costs);
  if (failed(timeline))
    return failure();
  WorkItemDependences workItemDependences(
      expanded, *dependences, WorkItemDependences::Carrier::Semaphores);
  SemaphorePlan plan =
      planSemaphores({expanded, *dependences, workItemDependences, costs,
                      *timeline, maxSemaphores});
  SynchronizationCounts counts =
      emitSynchronization(expanded, *dependences, plan);
  numWaits += counts.waits;
  numSignals += counts.signals;
  numBarriers += counts.barriers;
  numSemaphores += counts.semaphores;
  numDependences += plan.numDependences;
  numImplied += plan.numImplied;

  FailureOr<Timeline> synchronized = computeTimeline(schedule);
  if (failed(synchronized))
    return failure();
  schedule.setPredictedNs(std::llround(synchronized->getMakespan()));
  return success();
}
