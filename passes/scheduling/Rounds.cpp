//===- Rounds.cpp - Use the fewest SMs without more waves -----------------===//
//
// A task of 128 vCTAs takes one wave on 128 SMs as well as on 132 SMs, and a
// task of 384 vCTAs takes three waves on both. This scheduler uses the fewest
// SMs that need no more waves than all SMs. If several such tasks run on 128
// SMs, an SM has the same range of vCTAs in each task, and waits for few other
// SMs. If all 132 SMs shared the tasks, their ranges would differ, and an SM
// would read results of many other SMs.
//
//===----------------------------------------------------------------------===//

#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
class RoundsScheduler : public Scheduler {
public:
  StringRef getName() const override { return "rounds"; }
  ScheduledLanes schedule(const SchedulerInput &input) const override;
};
} // namespace

/// Returns the minimum number of SMs that execute `count` equal vCTAs in as
/// many waves as `sms` SMs.
static int64_t countBusySms(int64_t count, int64_t sms) {
  int64_t waves = std::max<int64_t>(llvm::divideCeil(count, sms), 1);
  return llvm::divideCeil(count, waves);
}

ScheduledLanes RoundsScheduler::schedule(const SchedulerInput &input) const {
  int64_t allSms = input.target.getSms();
  ScheduledLanes lanes(allSms * input.placement.smLanes.size());
  for (auto [position, task] : llvm::enumerate(input.dependences.getTasks())) {
    const Placement::Pin &pin = input.placement.pins[position];
    int64_t sms = pin.sms.second - pin.sms.first;
    int64_t first = pin.smLane * allSms + pin.sms.first;
    int64_t count = TaskOp(task).getNumVCTAs();
    int64_t busy = countBusySms(count, sms);
    for (int64_t sm = 0; sm < sms; ++sm) {
      // Empty ranges stay, so that all SMs have the same items.
      auto [begin, end] =
          sm < busy ? getEvenRange(sm, count, busy) : Interval(count, count);
      lanes[first + sm].push_back(
          {static_cast<unsigned>(position), begin, end});
    }
  }
  return lanes;
}

const Scheduler &mlir::ark::getRoundsScheduler() {
  static const RoundsScheduler scheduler;
  return scheduler;
}
