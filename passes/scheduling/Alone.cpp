//===- Alone.cpp - Run the tasks one after the other ----------------------===//
//
// A scheduler for measurements only: each task runs on one SM without other
// tasks. The measured time then contains no contention for memory, while the
// code is the same as in other schedules.
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

  /// Places every task on the first SM that it may use. Tasks without a common
  /// SM can still run at the same time.
  ScheduledLanes schedule(const SchedulerInput &input) const override {
    int64_t sms = input.target.getSms();
    ScheduledLanes lanes(sms * input.placement.smLanes.size());
    for (auto [position, task] :
         llvm::enumerate(input.dependences.getTasks())) {
      const Placement::Pin &pin = input.placement.pins[position];
      lanes[pin.smLane * sms + pin.sms.first].push_back(
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
