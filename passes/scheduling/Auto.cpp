//===- Auto.cpp - Choose the best of three schedules ----------------------===//
//
// No scheduler is best for all programs. The list scheduler places critical
// tasks first, where they end earliest, and does not see that a task placed
// late waits for a lane that was filled early. Dealing every task out to all
// SMs avoids that. Dealing it out to the fewest SMs that take no longer keeps
// dependent vCTAs on one SM. Trying all three is cheap.
//
//===----------------------------------------------------------------------===//

#include "passes/scheduling/Scheduler.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
class AutoScheduler : public Scheduler {
public:
  StringRef getName() const override { return "auto"; }

  SmallVector<const Scheduler *> getCandidates() const override {
    return {&getListScheduler(), &getRoundRobinScheduler(),
            &getRoundsScheduler()};
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
