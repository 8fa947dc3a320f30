//===- ArkScheduleOps.cpp - Schedules and synchronisation -----------------===//

#include "dialects/ark/ArkLimits.h"
#include "dialects/ark/ArkOps.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// Ranges of runs
//===----------------------------------------------------------------------===//

static std::pair<int64_t, int64_t> rangeOn(AffineMap map, int64_t sm) {
  AffineExpr at = getAffineConstantExpr(sm, map.getContext());
  auto value = [&](unsigned result) {
    return cast<AffineConstantExpr>(map.getResult(result).replaceDims({at}))
        .getValue();
  };
  return {value(0), value(1)};
}

/// Returns true if an expression divides by a constant above zero only.
static bool dividesByPositive(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || expr.getKind() == AffineExprKind::Add ||
      expr.getKind() == AffineExprKind::Mul)
    return true;
  auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return divisor && divisor.getValue() > 0;
}

static LogicalResult verifyRange(Operation *op, AffineMap range) {
  if (range.getNumDims() != 1 || range.getNumSymbols() != 0 ||
      range.getNumResults() != 2)
    return op->emitOpError("range must be two expressions of the SM (run_c1)");
  bool isDefined = true;
  range.walkExprs(
      [&](AffineExpr expr) { isDefined &= dividesByPositive(expr); });
  if (!isDefined)
    return op->emitOpError(
        "range must divide by constants above zero only (run_c1)");
  return success();
}

void RunOp::build(OpBuilder &builder, OperationState &state, StringRef task,
                  int64_t begin, int64_t end) {
  MLIRContext *context = builder.getContext();
  AffineMap range = AffineMap::get(1, 0,
                                   {getAffineConstantExpr(begin, context),
                                    getAffineConstantExpr(end, context)},
                                   context);
  build(builder, state, task, range);
}

std::pair<int64_t, int64_t> RunOp::getRangeOn(int64_t sm) {
  return rangeOn(getRange(), sm);
}

LogicalResult RunOp::verify() { return verifyRange(*this, getRange()); }

LogicalResult PrefetchOp::verify() { return verifyRange(*this, getRange()); }

//===----------------------------------------------------------------------===//
// Lanes and semaphores
//===----------------------------------------------------------------------===//

LogicalResult LaneOp::verify() {
  auto isRange = [](ArrayRef<int64_t> range) {
    return range.size() == 2 && range[0] >= 0 && range[0] < range[1];
  };
  // lane_c1
  if (!isRange(getSms()) || !isRange(getWarps()) ||
      (getSharedMemory() && !isRange(*getSharedMemory())))
    return emitOpError(
        "sms, warps and shared_memory must be ranges [begin, end) "
        "that are not empty (lane_c1)");
  return success();
}

LogicalResult SemaphoreOp::verify() {
  // semaphore_c1
  if (static_cast<int64_t>(getArrivals()) > 0)
    return success();
  return emitOpError("needs a positive number of arrivals (semaphore_c1)");
}

//===----------------------------------------------------------------------===//
// ScheduleOp
//===----------------------------------------------------------------------===//

namespace {
/// A task and the ranges of its vCTAs that work items execute.
struct TaskWorkItems {
  struct Range {
    int64_t begin, end;
    /// Index of `run` among the work items of the schedule.
    size_t index;
    RunOp run;
  };

  TaskOp task;
  int64_t numVCTAs;
  std::vector<Range> ranges;
};

/// Checks a schedule in one walk. A schedule may have tens of thousands of
/// items, so the verifier looks names up in maps instead of walking symbol
/// tables.
class ScheduleVerifier {
public:
  explicit ScheduleVerifier(ScheduleOp schedule) : schedule(schedule) {}

  LogicalResult verify() {
    // schedule_c6
    int64_t sms = schedule.getSms();
    if (sms < 1 || sms > kMaxSms)
      return schedule.emitOpError("has sms = ")
             << sms << "; expected 1 to " << kMaxSms << " (schedule_c6)";
    for (auto task : schedule->getParentOp()->getRegion(0).getOps<TaskOp>()) {
      // Tasks are verified after their schedule. task_c5 reports an invalid
      // grid.
      std::optional<int64_t> count = countVCTAs(task.getGrid());
      if (!count)
        return success();
      tasks.insert({task.getName(), {task, *count, {}}});
    }
    for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>())
      // schedule_c4
      if (!semaphores.try_emplace(semaphore.getSymName(), semaphore, 0).second)
        return semaphore.emitOpError("has the name of another semaphore, '@")
               << semaphore.getSymName() << "' (schedule_c4)";
    for (Operation &op : schedule.getBody().front())
      if (!isa<SemaphoreOp, LaneOp>(op))
        return op.emitOpError("is not allowed in a schedule");
    for (auto lane : schedule.getBody().getOps<LaneOp>())
      if (failed(verifyLane(lane)))
        return failure();
    return failure(failed(verifyCoverage()) || failed(verifyArrivals()));
  }

private:
  /// Checks schedule_c2, then the items.
  LogicalResult verifyLane(LaneOp lane) {
    if (lane.getSmEnd() > static_cast<int64_t>(schedule.getSms()))
      return lane.emitOpError("names SM ")
             << lane.getSmEnd() - 1
             << ", but the schedule has sms = " << schedule.getSms()
             << " (schedule_c2)";
    for (LaneOp other : lanes) {
      bool sameSm = overlap(lane.getSms(), other.getSms());
      bool shares =
          overlap(lane.getWarps(), other.getWarps()) ||
          (lane.getSharedMemory() && other.getSharedMemory() &&
           overlap(*lane.getSharedMemory(), *other.getSharedMemory()));
      if (sameSm && shares) {
        InFlightDiagnostic diagnostic =
            lane.emitOpError("shares warps or shared memory of an SM with "
                             "another lane (schedule_c2)");
        diagnostic.attachNote(other.getLoc()) << "the other lane";
        return diagnostic;
      }
    }
    lanes.push_back(lane);
    for (Operation &item : lane.getBody().front())
      if (failed(verifyItem(lane, item)))
        return failure();
    return success();
  }

  LogicalResult verifyItem(LaneOp lane, Operation &item) {
    if (auto run = dyn_cast<RunOp>(item))
      return verifyRun(lane, run);
    if (auto prefetch = dyn_cast<PrefetchOp>(item))
      return verifyPrefetch(lane, prefetch);
    int64_t copies = lane.getSmEnd() - lane.getSmBegin();
    if (auto signal = dyn_cast<SignalOp>(item))
      return count(item, signal.getSemaphore(), copies);
    if (auto barrier = dyn_cast<BarrierOp>(item))
      return count(item, barrier.getSemaphore(), copies);
    if (auto wait = dyn_cast<WaitOp>(item))
      return count(item, wait.getSemaphore(), 0);
    return item.emitOpError("is not allowed in a lane");
  }

  /// Checks run_c1, and records the vCTAs that run.
  LogicalResult verifyRun(LaneOp lane, RunOp run) {
    auto entry = tasks.find(run.getTask());
    if (entry == tasks.end())
      return run.emitOpError("names unknown task '")
             << run.getTask() << "' (run_c1)";
    TaskWorkItems &workItems = entry->second;
    size_t index = numWorkItems++;
    for (int64_t sm = lane.getSmBegin(); sm < lane.getSmEnd(); ++sm) {
      auto [begin, end] = run.getRangeOn(sm);
      if (begin < 0 || begin > end || end > workItems.numVCTAs)
        return run.emitOpError("range [")
               << begin << ", " << end << "] on SM " << sm << " leaves the "
               << workItems.numVCTAs << " vCTAs of '" << run.getTask()
               << "' (run_c1)";
      if (begin < end)
        workItems.ranges.push_back({begin, end, index, run});
    }
    return success();
  }

  LogicalResult verifyPrefetch(LaneOp lane, PrefetchOp prefetch) {
    auto entry = tasks.find(prefetch.getTask());
    if (entry == tasks.end())
      return prefetch.emitOpError("names unknown task '")
             << prefetch.getTask() << "' (run_c1)";
    // prefetch_c1
    if (prefetch.getOperand() >= entry->second.task.getInputs().size())
      return prefetch.emitOpError("operand ")
             << prefetch.getOperand() << " is not an input of '"
             << prefetch.getTask() << "' (prefetch_c1)";
    for (int64_t sm = lane.getSmBegin(); sm < lane.getSmEnd(); ++sm) {
      auto [begin, end] = rangeOn(prefetch.getRange(), sm);
      if (begin < 0 || begin > end || end > entry->second.numVCTAs)
        return prefetch.emitOpError("range leaves the grid of '")
               << prefetch.getTask() << "' (run_c1)";
    }
    return success();
  }

  /// schedule_c4
  LogicalResult count(Operation &item, StringRef name, int64_t signals) {
    auto entry = semaphores.find(name);
    if (entry == semaphores.end())
      return item.emitOpError("names unknown semaphore '@")
             << name << "' (schedule_c4)";
    entry->second.second += signals;
    return success();
  }

  /// schedule_c3
  LogicalResult verifyCoverage() {
    for (auto task : schedule->getParentOp()->getRegion(0).getOps<TaskOp>())
      if (failed(verifyCoverage(tasks.find(task.getName())->second)))
        return failure();
    return success();
  }

  LogicalResult verifyCoverage(TaskWorkItems &workItems) {
    llvm::sort(workItems.ranges, [](const TaskWorkItems::Range &a,
                                    const TaskWorkItems::Range &b) {
      return std::tie(a.begin, a.index) < std::tie(b.begin, b.index);
    });
    int64_t covered = 0;
    const TaskWorkItems::Range *previous = nullptr;
    for (const TaskWorkItems::Range &range : workItems.ranges) {
      if (range.begin < covered) {
        RunOp later = range.index > previous->index ? range.run : previous->run;
        return later.emitOpError("runs vCTA ")
               << range.begin << " of '" << later.getTask()
               << "' again (schedule_c3)";
      }
      if (range.begin > covered)
        break;
      covered = range.end;
      previous = &range;
    }
    if (covered == workItems.numVCTAs)
      return success();
    InFlightDiagnostic diagnostic =
        schedule.emitOpError("never runs vCTA ")
        << covered << " of '" << workItems.task.getName() << "' (schedule_c3)";
    diagnostic.attachNote(workItems.task.getLoc()) << "the task";
    return diagnostic;
  }

  /// schedule_c5
  LogicalResult verifyArrivals() {
    for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>()) {
      int64_t signals = semaphores.find(semaphore.getSymName())->second.second;
      if (signals != static_cast<int64_t>(semaphore.getArrivals()))
        return semaphore.emitOpError("declares ")
               << semaphore.getArrivals() << " arrivals and is signalled "
               << signals << " times (schedule_c5)";
    }
    return success();
  }

  static bool overlap(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
    return a[0] < b[1] && b[0] < a[1];
  }

  ScheduleOp schedule;
  SmallVector<LaneOp> lanes;
  llvm::StringMap<TaskWorkItems> tasks;
  size_t numWorkItems = 0;
  llvm::StringMap<std::pair<SemaphoreOp, int64_t>> semaphores;
};
} // namespace

LogicalResult ScheduleOp::verifyRegions() {
  return ScheduleVerifier(*this).verify();
}
