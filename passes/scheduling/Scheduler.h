//===- Scheduler.h - Interface of schedulers --------------------*- C++ -*-===//
//
// A scheduler assigns vCTAs to lanes, in order. Reading pins, emitting the
// result as IR and predicting its time are common to all schedulers.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_SCHEDULING_SCHEDULER_H
#define ARK_PASSES_SCHEDULING_SCHEDULER_H

#include "lib/analysis/CostModel.h"
#include "lib/analysis/Dependences.h"

namespace mlir::ark {

/// Resources on which tasks may run, from the target and the tasks' plans.
struct Placement {
  /// A lane that every SM has: its warps, and its part of the shared memory if
  /// the lanes of an SM divide it.
  struct SMLane {
    Interval warps;
    std::optional<Interval> sharedMemory;
  };
  struct Pin {
    Interval sms;
    unsigned smLane;
    /// False if the task should run in the lanes of producers with the same
    /// setting, without synchronisation in between. False is only possible if
    /// the dependences permit such an execution.
    bool sync;
    /// SMs that execute the task beside other work, if they end earlier than
    /// all SMs together; empty if the task prefers no SMs.
    Interval preferred = {0, 0};
    /// The position of the task's unit among the units of its rank; nothing if
    /// the plan names no microbatch. A lane executes units in this order.
    std::optional<unsigned> unit = std::nullopt;

    bool hasPreference() const { return preferred.first < preferred.second; }
  };

  /// Fails with an error at a task with an unsatisfiable plan. `target`
  /// describes all `ranks` together; each rank has an equal share of the SMs.
  static FailureOr<Placement> read(ArrayRef<TaskOp> tasks, TargetAttr target,
                                   int64_t ranks);

  SmallVector<SMLane> smLanes;
  /// Returns true if the plans of both tasks request no synchronisation between
  /// them.
  bool wantsNoSync(unsigned producer, unsigned consumer) const {
    return producer != consumer && !pins[producer].sync && !pins[consumer].sync;
  }

  /// Pins of every task.
  SmallVector<Pin> pins;
  /// For each rank, the SMs that tasks without a pin may use: all of its SMs,
  /// except those that start copies by network adapters.
  SmallVector<Interval> smsOfRank;
};

/// A work item: vCTAs [begin, end) of a task. The range may be empty.
struct ScheduledWorkItem {
  unsigned task;
  int64_t begin, end;
};

/// Work items of every lane. Lane `k` of SM `s` has index `k * sms + s`.
using ScheduledLanes = std::vector<std::vector<ScheduledWorkItem>>;

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
  /// Fails with an error if the program lacks information that the scheduler
  /// needs.
  virtual LogicalResult check(const SchedulerInput &) const {
    return success();
  }
  /// Returns the schedulers to try. The schedule with the least predicted time,
  /// multiplied by its handicap, is kept; the first scheduler wins ties.
  virtual SmallVector<const Scheduler *>
  getCandidates(const SchedulerInput &) const {
    return {this};
  }
  /// Returns the factor by which predicted times of this candidate are
  /// multiplied in the comparison with other candidates: above 1 if the
  /// prediction has to show more than a small gain.
  virtual double getHandicap() const { return 1; }
  /// Schedules a program. In every lane, a task must follow the tasks that it
  /// depends on.
  virtual ScheduledLanes schedule(const SchedulerInput &input) const = 0;
};

/// Returns the scheduler with a name, or null.
const Scheduler *findScheduler(StringRef name);
SmallVector<StringRef> getSchedulerNames();

/// Collects the input of schedulers and passes it to `use`. Fails with an error
/// if the program has no target or an unsatisfiable plan, or if `use` fails.
LogicalResult
withSchedulerInput(ProgramOp program,
                   function_ref<LogicalResult(const SchedulerInput &)> use);

/// Returns true if a schedule has passed the synchronization stage.
bool isSynchronized(ScheduleOp schedule);

/// Runs a scheduler and inserts its `ark.schedule`, unless the program has one.
/// Predicts the time of the schedule, unless it is known. Returns the schedule.
FailureOr<ScheduleOp> scheduleProgram(ProgramOp program,
                                      const Scheduler &scheduler);

/// Returns the range of vCTAs for the SM at `position` if `count` vCTAs are
/// divided evenly among `sms` SMs.
inline Interval getEvenRange(int64_t position, int64_t count, int64_t sms) {
  return {position * count / sms, (position + 1) * count / sms};
}

/// Returns the rotation of a division with these shares that minimises the load
/// of the busiest SM: SMs with little load get the large shares.
int64_t chooseRotation(ArrayRef<double> loads, ArrayRef<double> shares);

/// Changes the ranges of tasks whose later vCTAs take longer: every lane gets
/// vCTAs from both ends of the grid, instead of neighbouring vCTAs.
ScheduledLanes balanceGrowing(const SchedulerInput &input,
                              ScheduledLanes lanes);

/// Emits lanes as IR at the builder's insertion point. A work item whose vCTAs
/// depend on each other becomes several consecutive work items. SMs whose items
/// differ only in affine ranges share one lane op.
ScheduleOp emitSchedule(OpBuilder &builder, StringRef scheduler,
                        const SchedulerInput &input,
                        const ScheduledLanes &lanes);

/// Returns true if a plan limits the SMs of a large exchange between ranks.
bool hasPinnedExchange(const SchedulerInput &input);

/// Returns true if computations can hide a considerable part of large exchanges
/// between ranks.
bool canHideExchange(const SchedulerInput &input);

// Each function is defined next to its algorithm.
const Scheduler &getAloneScheduler();
const Scheduler &getAutoScheduler();
const Scheduler &getListScheduler();
const Scheduler &getOverlapScheduler();
const Scheduler &getProfileScheduler();
const Scheduler &getRoundRobinScheduler();
const Scheduler &getRoundsScheduler();

} // namespace mlir::ark

#endif // ARK_PASSES_SCHEDULING_SCHEDULER_H
