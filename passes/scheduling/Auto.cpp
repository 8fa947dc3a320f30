//===- Auto.cpp - The best of three schedules -----------------------------===//
//
// Placing critical tasks first, where they end earliest, can be worse than
// dealing every task out to all SMs: it does not see that what it places late
// waits for a lane that was filled up early; dealing them out to as few SMs as
// take no longer keeps together what belongs together. Trying all costs little.
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
