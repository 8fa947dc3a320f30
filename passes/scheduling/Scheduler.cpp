//===- Scheduler.cpp - Schedule a program ---------------------------------===//

#include "passes/scheduling/Scheduler.h"
#include "lib/analysis/Timeline.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::ark;

Scheduler::~Scheduler() = default;

static ArrayRef<const Scheduler *> getSchedulers() {
  static const Scheduler *const schedulers[] = {
      &getAutoScheduler(),       &getListScheduler(),   &getProfileScheduler(),
      &getRoundRobinScheduler(), &getRoundsScheduler(), &getOverlapScheduler(),
      &getAloneScheduler()};
  return schedulers;
}

const Scheduler *mlir::ark::findScheduler(StringRef name) {
  for (const Scheduler *scheduler : getSchedulers())
    if (scheduler->getName() == name)
      return scheduler;
  return nullptr;
}

SmallVector<StringRef> mlir::ark::getSchedulerNames() {
  return llvm::map_to_vector(getSchedulers(), [](const Scheduler *scheduler) {
    return scheduler->getName();
  });
}

bool mlir::ark::isSynchronized(ScheduleOp schedule) {
  return !schedule.getBody().getOps<SemaphoreOp>().empty();
}

/// Predicts the time of a schedule in which every lane proceeds as soon as its
/// dependences are met. Where nothing is computed beside exchanges, all SMs
/// store to other ranks at the same time.
static LogicalResult predict(ScheduleOp schedule, const SchedulerInput &input,
                             LinkOrder linkOrder) {
  ExpandedSchedule expanded(schedule);
  WorkItemDependences workItemDependences(expanded, input.dependences);
  FailureOr<Timeline> timeline = computeUnsynchronizedTimeline(
      expanded, input.dependences, workItemDependences, input.costs, linkOrder);
  if (failed(timeline))
    return failure();
  schedule.setPredictedNs(std::llround(timeline->getMakespan()));
  return success();
}

LogicalResult mlir::ark::withSchedulerInput(
    ProgramOp program,
    function_ref<LogicalResult(const SchedulerInput &)> use) {
  TargetAttr target = findTarget(program);
  if (!target)
    return program.emitOpError("cannot be scheduled: its module has no '")
           << ArkDialect::kTargetAttr << "'";
  FailureOr<Dependences> dependences = Dependences::compute(program);
  if (failed(dependences))
    return failure();
  FailureOr<Placement> placement =
      Placement::read(dependences->getTasks(), target, program.getNumRanks());
  if (failed(placement))
    return failure();
  CostModel costs(program, target.getSms());
  return use({program, target, *placement, *dependences, costs});
}

FailureOr<ScheduleOp> mlir::ark::scheduleProgram(ProgramOp program,
                                                 const Scheduler &scheduler) {
  auto existing = program.getBody().getOps<ScheduleOp>();
  ScheduleOp schedule = existing.empty() ? ScheduleOp() : *existing.begin();
  if (schedule && (schedule.getPredictedNs() || isSynchronized(schedule)))
    return schedule;
  auto emit = [&](const SchedulerInput &input) -> LogicalResult {
    LinkOrder linkOrder =
        canHideExchange(input) ? LinkOrder::Queue : LinkOrder::Share;
    if (schedule)
      return predict(schedule, input, linkOrder);
    if (failed(scheduler.check(input)))
      return failure();
    OpBuilder builder(program.getBody().front().getTerminator());
    double least = std::numeric_limits<double>::infinity();
    for (const Scheduler *candidate : scheduler.getCandidates(input)) {
      ScheduleOp made =
          emitSchedule(builder, candidate->getName(), input,
                       balanceGrowing(input, candidate->schedule(input)));
      if (failed(predict(made, input, linkOrder)))
        return failure();
      double ns = *made.getPredictedNs() * candidate->getHandicap();
      bool isBest = !schedule || ns < least;
      least = std::min(least, ns);
      ScheduleOp worse = isBest ? schedule : made;
      schedule = isBest ? made : schedule;
      if (worse)
        worse.erase();
    }
    return success();
  };
  if (failed(withSchedulerInput(program, emit)))
    return failure();
  return schedule;
}
