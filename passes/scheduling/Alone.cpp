//===- Alone.cpp - One task after the other, each on one SM ---------------===//
//
// No program should run like this. It is how a task can be measured that has
// the memory of the machine to itself, with the code that it has elsewhere.
//
//===----------------------------------------------------------------------===//

#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
class AloneScheduler : public Scheduler {
public:
  StringRef getName() const override { return "alone"; }

  /// On the first SM that a task may use. Of tasks that may not use the same
  /// one, some can still run at once.
  ScheduledLanes schedule(const SchedulerInput &input) const override {
    int64_t sms = input.target.getSms();
    ScheduledLanes lanes(sms * input.placement.slots.size());
    for (auto [position, task] :
         llvm::enumerate(input.dependences.getTasks())) {
      const Placement::Pin &pin = input.placement.pins[position];
      lanes[pin.slot * sms + pin.sms.first].push_back(
          {static_cast<unsigned>(position), 0, TaskOp(task).getNumVCTAs()});
    }
    return lanes;
  }
};
} // namespace

const Scheduler &mlir::ark::getAloneScheduler() {
  static const AloneScheduler scheduler;
  return scheduler;
}
