//===- Auto.cpp - Choose the best of several schedules --------------------===//
//
// No scheduler is best for all programs. The list scheduler schedules critical
// tasks first, at the earliest end. The list scheduler does not foresee that a
// task that it schedules late waits for a lane that it filled early. The
// round-robin scheduler, which divides every task among all SMs, avoids that.
// The rounds scheduler uses the fewest SMs that take no longer, which keeps
// dependent vCTAs on one SM. All three take little time, so this scheduler
// tries all three. If a program has a large exchange between ranks, it tries
// the overlap scheduler as well, with several numbers of SMs unless a plan
// states the number.
//
//===----------------------------------------------------------------------===//

#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
class AutoScheduler : public Scheduler {
public:
  StringRef getName() const override { return "auto"; }

  SmallVector<const Scheduler *>
  getCandidates(const SchedulerInput &input) const override {
    SmallVector<const Scheduler *> candidates = {
        &getListScheduler(), &getRoundRobinScheduler(), &getRoundsScheduler()};
    if (hasPinnedExchange(input) || canHideExchange(input))
      llvm::append_range(candidates,
                         getOverlapScheduler().getCandidates(input));
    return candidates;
  }

  ScheduledLanes schedule(const SchedulerInput &input) const override {
    return getListScheduler().schedule(input);
  }
};
} // namespace

const Scheduler &mlir::ark::getAutoScheduler() {
  static const AutoScheduler scheduler;
  return scheduler;
}
