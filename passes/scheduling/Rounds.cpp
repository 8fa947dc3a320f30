//===- Rounds.cpp - Use as few SMs as take no longer than all -------------===//
//
// A task of 128 vCTAs takes as long on 128 SMs as on 132, and so does a task of
// 384 vCTAs. In a sequence of such tasks on 128 SMs, each SM always computes
// the same part of the results and waits for few other SMs. With a division
// among all SMs, the inputs of an SM would come from many others.
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

/// Returns the minimum number of SMs that finish `count` equal vCTAs in as many
/// rounds as all `sms` SMs.
static int64_t countBusySms(int64_t count, int64_t sms) {
  int64_t rounds = std::max<int64_t>(llvm::divideCeil(count, sms), 1);
  return llvm::divideCeil(count, rounds);
}

ScheduledLanes RoundsScheduler::schedule(const SchedulerInput &input) const {
  int64_t allSms = input.target.getSms();
  ScheduledLanes lanes(allSms * input.placement.slots.size());
  for (auto [position, task] : llvm::enumerate(input.dependences.getTasks())) {
    const Placement::Pin &pin = input.placement.pins[position];
    int64_t sms = pin.sms.second - pin.sms.first;
    int64_t first = pin.slot * allSms + pin.sms.first;
    int64_t count = TaskOp(task).getNumVCTAs();
    int64_t busy = countBusySms(count, sms);
    for (int64_t sm = 0; sm < sms; ++sm) {
      // Empty ranges stay, so that all SMs have the same items.
      auto [begin, end] =
          sm < busy ? deal(sm, count, busy) : Interval(count, count);
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
