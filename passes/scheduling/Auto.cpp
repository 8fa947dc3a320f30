//===- Auto.cpp - The better of two schedules -----------------------------===//
//
// Placing critical tasks first, where they end earliest, can be worse than
// dealing every task out to all SMs: it does not see that what it places late
// waits for a lane that was filled up early. Trying both costs little.
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
    return {&getListScheduler(), &getRoundRobinScheduler()};
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
