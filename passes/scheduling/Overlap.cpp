//===- Overlap.cpp - Exchange data between ranks beside computation -------===//
//
// A few SMs saturate the links between GPUs, and a single SM has more than its
// share of the bandwidth if the other SMs compute. This scheduler keeps some
// SMs of each rank for large exchanges: puts, and tasks that read what other
// ranks have put. An exchange also uses the other SMs if that ends earlier, for
// example after the last computation.
//
//===----------------------------------------------------------------------===//

#include "lib/support/PlanRank.h"
#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Lower bound of the bytes of a large exchange. Smaller exchanges end sooner
/// on all SMs.
static constexpr int64_t kLargeBytes = 4 << 20;
/// Numbers of SMs of each rank to try.
static constexpr int64_t kSms[] = {4, 8, 16};

/// Returns true if a task depends on a task of another rank.
static bool readsOtherRank(const Dependences &dependences, unsigned task) {
  int64_t rank = getRank(TaskOp(dependences.getTask(task)));
  return llvm::any_of(
      dependences.getIncoming(task), [&](const Dependence &dependence) {
        TaskOp producer = dependences.getTask(dependence.producer);
        return dependence.hazard == Hazard::RAW && getRank(producer) != rank;
      });
}

/// Returns true if a task moves many bytes from or to another rank, and is
/// limited by the time of these bytes.
static bool isLargeExchange(const SchedulerInput &input, unsigned task) {
  const TaskCost &cost = input.costs.getTask(task);
  if (cost.bytesRead + cost.bytesWritten < kLargeBytes ||
      (cost.remoteBytes == 0 && !readsOtherRank(input.dependences, task)))
    return false;
  // A product reads its operands many times, mostly from caches.
  return cost.flops / double(input.target.getFlops()) <
         cost.bytesWritten / double(input.target.getBandwidth());
}

/// Returns the SMs of the rank of a task.
static Interval getSmsOfRank(const SchedulerInput &input, unsigned task) {
  ProgramOp program = input.program;
  int64_t sms = input.target.getSms() / program.getNumRanks();
  int64_t rank = getRank(TaskOp(input.dependences.getTask(task)));
  return {rank * sms, (rank + 1) * sms};
}

bool ark::hasPinnedExchange(const SchedulerInput &input) {
  ProgramOp program = input.program;
  if (program.getNumRanks() == 1)
    return false;
  int64_t tasks = input.dependences.getTasks().size();
  return llvm::any_of(llvm::seq<unsigned>(0, tasks), [&](unsigned task) {
    return input.placement.pins[task].sms != getSmsOfRank(input, task) &&
           isLargeExchange(input, task);
  });
}

/// Reserves the first `sms` SMs of each rank for large exchanges. A plan that
/// names SMs stays as it is.
static void reserveSms(const SchedulerInput &input, int64_t sms,
                       Placement &placement) {
  for (auto [task, pin] : llvm::enumerate(placement.pins)) {
    Interval all = getSmsOfRank(input, task);
    if (pin.sms != all || all.second - all.first < 2 * sms)
      continue;
    if (isLargeExchange(input, task))
      pin.preferred = {all.first, all.first + sms};
    else
      pin.sms.first += sms;
  }
}

namespace {
/// Keeps `sms` SMs of each rank for exchanges.
class ReservedSmsScheduler : public Scheduler {
public:
  explicit ReservedSmsScheduler(int64_t sms) : sms(sms) {}

  StringRef getName() const override { return "overlap"; }

  ScheduledLanes schedule(const SchedulerInput &input) const override {
    Placement placement = input.placement;
    reserveSms(input, sms, placement);
    return getListScheduler().schedule({input.program, input.target, placement,
                                        input.dependences, input.costs});
  }

private:
  int64_t sms;
};

class OverlapScheduler : public Scheduler {
public:
  StringRef getName() const override { return "overlap"; }

  SmallVector<const Scheduler *>
  getCandidates(const SchedulerInput &) const override {
    static const SmallVector<ReservedSmsScheduler> schedulers(std::begin(kSms),
                                                              std::end(kSms));
    return llvm::to_vector_of<const Scheduler *>(
        llvm::make_pointer_range(schedulers));
  }

  ScheduledLanes schedule(const SchedulerInput &input) const override {
    return ReservedSmsScheduler(kSms[0]).schedule(input);
  }
};
} // namespace

const Scheduler &mlir::ark::getOverlapScheduler() {
  static const OverlapScheduler scheduler;
  return scheduler;
}
