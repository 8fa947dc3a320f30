//===- RoundRobin.cpp - Equal ranges of every task for every SM -----------===//

#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
class RoundRobinScheduler : public Scheduler {
public:
  StringRef getName() const override { return "round-robin"; }
  ScheduledLanes schedule(const SchedulerInput &input) const override;
};
} // namespace

int64_t mlir::ark::chooseRotation(ArrayRef<double> loads,
                                  ArrayRef<double> shares) {
  int64_t best = 0, sms = loads.size();
  std::pair<double, double> least;
  for (int64_t rotation = 0; rotation < sms; ++rotation) {
    // Squares decide between rotations with one maximum.
    std::pair<double, double> cost = {0, 0};
    for (int64_t sm = 0; sm < sms; ++sm) {
      double total = loads[sm] + shares[(sm + sms - rotation) % sms];
      cost.first = std::max(cost.first, total);
      cost.second += total * total;
    }
    if (rotation == 0 || cost < least) {
      least = cost;
      best = rotation;
    }
  }
  return best;
}

ScheduledLanes
RoundRobinScheduler::schedule(const SchedulerInput &input) const {
  int64_t allSms = input.target.getSms();
  ScheduledLanes lanes(allSms * input.placement.slots.size());
  std::vector<double> load(lanes.size(), 0);
  for (auto [position, task] : llvm::enumerate(input.dependences.getTasks())) {
    const Placement::Pin &pin = input.placement.pins[position];
    int64_t sms = pin.sms.second - pin.sms.first;
    int64_t first = pin.slot * allSms + pin.sms.first;
    int64_t count = TaskOp(task).getNumVCTAs();

    SmallVector<double> shares;
    for (int64_t sm = 0; sm < sms; ++sm) {
      auto [begin, end] = deal(sm, count, sms);
      shares.push_back(input.costs.getRunNs(position, begin, end));
    }
    MutableArrayRef<double> loads(load.data() + first, sms);
    int64_t rotation = chooseRotation(loads, shares);
    for (int64_t sm = 0; sm < sms; ++sm) {
      int64_t dealt = (sm + sms - rotation) % sms;
      auto [begin, end] = deal(dealt, count, sms);
      // Empty ranges stay: the programs of the SMs remain alike.
      lanes[first + sm].push_back(
          {static_cast<unsigned>(position), begin, end});
      loads[sm] += shares[dealt];
    }
  }
  return lanes;
}

const Scheduler &mlir::ark::getRoundRobinScheduler() {
  static const RoundRobinScheduler scheduler;
  return scheduler;
}
