//===- Scheduler.h - Interface of schedulers --------------------*- C++ -*-===//
//
// A scheduler decides which vCTAs run where and in which order. Reading pins,
// writing the result as IR and predicting its time are common to all.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_SCHEDULING_SCHEDULER_H
#define ARK_PASSES_SCHEDULING_SCHEDULER_H

#include "lib/analysis/CostModel.h"
#include "lib/analysis/Dependences.h"

namespace mlir::ark {

/// Where tasks may run, from the target and their plans.
struct Placement {
  /// One lane of every SM.
  struct Slot {
    Interval warps;
    std::optional<Interval> sharedMemory;
  };
  struct Pin {
    Interval sms;
    unsigned slot;
    /// False where the task is to run where its producers of the same kind ran,
    /// without synchronisation in between, if the dependences allow it.
    bool sync;
  };

  /// Fails with an error at a task whose plan cannot be met. `target` is what
  /// all `ranks` have together; each has an equal share of its SMs.
  static FailureOr<Placement> read(ArrayRef<TaskOp> tasks, TargetAttr target,
                                   int64_t ranks);

  SmallVector<Slot> slots;
  /// Whether the plans want these two not to be synchronised.
  bool wantsNoSync(unsigned producer, unsigned consumer) const {
    return producer != consumer && !pins[producer].sync && !pins[consumer].sync;
  }

  /// Of every task.
  SmallVector<Pin> pins;
};

/// vCTAs [begin, end) of a task; may be empty.
struct ScheduledRun {
  unsigned task;
  int64_t begin, end;
};

/// The runs of every lane: those of slot `k` on SM `s` at `k * sms + s`.
using ScheduledLanes = std::vector<std::vector<ScheduledRun>>;

struct SchedulerInput {
  ProgramOp program;
  TargetAttr target;
  const Placement &placement;
  const Dependences &dependences;
  const CostModel &costs;
};

class Scheduler {
public:
  virtual ~Scheduler();
  virtual StringRef getName() const = 0;
  /// Fails with an error where the program lacks what the scheduler needs.
  virtual LogicalResult check(const SchedulerInput &) const {
    return success();
  }
  /// Those whose schedules are tried: the one that is predicted to take least
  /// is kept, of equal ones the first.
  virtual SmallVector<const Scheduler *> getCandidates() const {
    return {this};
  }
  /// Every task must come after those that it depends on, in every lane.
  virtual ScheduledLanes schedule(const SchedulerInput &input) const = 0;
};

/// The scheduler of a name; null where there is none.
const Scheduler *findScheduler(StringRef name);
SmallVector<StringRef> getSchedulerNames();

/// Collects what schedulers decide upon. Fails with an error where the program
/// has no target, or a plan that cannot be met; or as `use` does.
LogicalResult
withSchedulerInput(ProgramOp program,
                   function_ref<LogicalResult(const SchedulerInput &)> use);

/// Whether a schedule has been through the next stage.
bool isSynchronized(ScheduleOp schedule);

/// Runs a scheduler and inserts its `ark.schedule`, unless the program has one,
/// and predicts its time, unless it is known. Returns the schedule.
FailureOr<ScheduleOp> scheduleProgram(ProgramOp program,
                                      const Scheduler &scheduler);

/// vCTAs of the SM at a position, where `count` are dealt out to `sms` evenly.
inline Interval deal(int64_t position, int64_t count, int64_t sms) {
  return {position * count / sms, (position + 1) * count / sms};
}

/// By how many SMs to rotate a deal with these shares so that the busiest SM is
/// least busy: who got less of earlier tasks gets more of this one.
int64_t chooseRotation(ArrayRef<double> loads, ArrayRef<double> shares);

/// Writes lanes as IR at the builder's insertion point. A run whose vCTAs
/// depend on each other becomes several, one after the other. SMs whose
/// programs differ in their ranges alone, and there regularly, share one lane
/// op.
ScheduleOp emitSchedule(OpBuilder &builder, StringRef scheduler,
                        const SchedulerInput &input,
                        const ScheduledLanes &lanes);

// Defined beside their algorithms.
const Scheduler &getAloneScheduler();
const Scheduler &getAutoScheduler();
const Scheduler &getListScheduler();
const Scheduler &getProfileScheduler();
const Scheduler &getRoundRobinScheduler();
const Scheduler &getRoundsScheduler();

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_SCHEDULER_H
