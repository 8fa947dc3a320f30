//===- VerifyScheduling.cpp - Check that a schedule can be synchronised ---===//

#include "lib/analysis/Timeline.h"
#include "passes/scheduling/Passes.h"
#include "passes/scheduling/Scheduler.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYSCHEDULINGPASS
#include "passes/scheduling/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Checks that lanes lie within the machine.
static LogicalResult verifyTarget(ScheduleOp schedule, TargetAttr target) {
  if (static_cast<int64_t>(schedule.getSms()) > target.getSms())
    return schedule.emitOpError("uses ")
           << schedule.getSms() << " SMs, and the target has "
           << target.getSms();
  for (auto lane : schedule.getBody().getOps<LaneOp>()) {
    if (lane.getWarps()[1] > target.getWarps())
      return lane.emitOpError("uses warps up to ")
             << lane.getWarps()[1] << ", and the target has "
             << target.getWarps();
    if (lane.getSharedMemory() &&
        (*lane.getSharedMemory())[1] > target.getSharedMemory())
      return lane.emitOpError("uses shared memory up to ")
             << (*lane.getSharedMemory())[1] << ", and the target has "
             << target.getSharedMemory() << " bytes";
  }
  return success();
}

/// Checks that a lane has the resources that a task needs, and that the task's
/// plan allows the lane.
static LogicalResult verifyRun(RunOp run, LaneOp lane, TaskOp task,
                               const Placement &placement, unsigned position) {
  auto fail = [&](const Twine &message) {
    InFlightDiagnostic diagnostic = run.emitOpError(message);
    diagnostic.attachNote(task.getLoc()) << "the task";
    return diagnostic;
  };
  int64_t warps = lane.getWarps()[1] - lane.getWarps()[0];
  if (static_cast<int64_t>(task.getWarps()) > warps)
    return fail("needs " + Twine(task.getWarps()) +
                " warps, and the lane has " + Twine(warps));
  if (lane.getSharedMemory()) {
    int64_t bytes = (*lane.getSharedMemory())[1] - (*lane.getSharedMemory())[0];
    if (static_cast<int64_t>(task.getSharedMemory()) > bytes)
      return fail("needs " + Twine(task.getSharedMemory()) +
                  " bytes of shared memory, and the lane has " + Twine(bytes));
  }
  const Placement::Pin &pin = placement.pins[position];
  for (int64_t sm = lane.getSmBegin(); sm < lane.getSmEnd(); ++sm) {
    auto [begin, end] = run.getRangeOn(sm);
    if (begin < end && (sm < pin.sms.first || sm >= pin.sms.second))
      return fail("runs on SM " + Twine(sm) + ", and the plan pins sms to [" +
                  Twine(pin.sms.first) + ", " + Twine(pin.sms.second) + ")");
  }
  if (task.getPlan() && task.getPlan()->contains("warps")) {
    Interval pinned = placement.smLanes[pin.smLane].warps;
    if (lane.getWarps()[0] != pinned.first ||
        lane.getWarps()[1] != pinned.second)
      return fail("runs on warps [" + Twine(lane.getWarps()[0]) + ", " +
                  Twine(lane.getWarps()[1]) + "), and the plan pins [" +
                  Twine(pinned.first) + ", " + Twine(pinned.second) + ")");
  }
  return success();
}

/// Checks the condition of prefetch_c1 that the verifier of the op cannot
/// check: the operand is bound to a parameter.
static LogicalResult verifyPrefetch(PrefetchOp prefetch, TaskOp task) {
  FailureOr<BufferView> view =
      resolveBufferView(task.getInputs()[prefetch.getOperand()]);
  if (failed(view))
    return failure();
  auto program = cast<ProgramOp>(task->getParentOp());
  auto argument = dyn_cast<BlockArgument>(view->root);
  if (argument && program.getArgumentKind(argument.getArgNumber()) ==
                      ArgumentKind::Parameter)
    return success();
  return prefetch.emitOpError("operand ")
         << prefetch.getOperand() << " of '" << task.getName()
         << "' is not bound to a parameter (prefetch_c1)";
}

/// Checks items in schedules with and without synchronisation.
static LogicalResult verifyItems(ScheduleOp schedule,
                                 const Dependences &dependences,
                                 const Placement &placement) {
  llvm::StringMap<unsigned> positions;
  for (TaskOp task : dependences.getTasks())
    positions.try_emplace(task.getName(), positions.size());
  for (auto lane : schedule.getBody().getOps<LaneOp>())
    for (Operation &item : lane.getBody().front()) {
      if (auto run = dyn_cast<RunOp>(item)) {
        unsigned position = positions.lookup(run.getTask());
        if (failed(verifyRun(run, lane, dependences.getTask(position),
                             placement, position)))
          return failure();
      } else if (auto prefetch = dyn_cast<PrefetchOp>(item)) {
        unsigned position = positions.lookup(prefetch.getTask());
        if (failed(verifyPrefetch(prefetch, dependences.getTask(position))))
          return failure();
      }
    }
  return success();
}

static LogicalResult verifyScheduling(ProgramOp program) {
  auto schedules = program.getBody().getOps<ScheduleOp>();
  if (schedules.empty())
    return program.emitOpError("has no schedule");
  ScheduleOp schedule = *schedules.begin();
  FailureOr<Dependences> dependences = Dependences::compute(program);
  if (failed(dependences))
    return failure();
  TargetAttr target = findTarget(program);
  if (!target)
    return program.emitOpError(
               "is scheduled without a target: its module has no '")
           << ArkDialect::kTargetAttr << "'";
  FailureOr<Placement> placement =
      Placement::read(dependences->getTasks(), target, program.getNumRanks());
  if (failed(placement) || failed(verifyTarget(schedule, target)) ||
      failed(verifyItems(schedule, *dependences, *placement)))
    return failure();
  if (isSynchronized(schedule))
    return success();

  CostModel costs(program, schedule.getSms());
  ExpandedSchedule expanded(schedule);
  WorkItemDependences workItemDependences(expanded, *dependences);
  return computeUnsynchronizedTimeline(expanded, *dependences,
                                       workItemDependences, costs);
}

namespace {
struct VerifySchedulingPass
    : ark::impl::VerifySchedulingPassBase<VerifySchedulingPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    if (failed(verifyScheduling(getOperation())))
      signalPassFailure();
  }
};
} // namespace
