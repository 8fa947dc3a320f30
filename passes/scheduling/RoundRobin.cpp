//===- RoundRobin.cpp - Divide every task among all SMs -------------------===//

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
    // The sum of squares decides between rotations with equal maxima.
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

/// Returns the rotation of a producer that is divided in the same way as the
/// task, if the plans of both request no synchronisation between them.
/// Otherwise returns nothing.
static std::optional<int64_t> findTiedRotation(const SchedulerInput &input,
                                               unsigned task,
                                               ArrayRef<int64_t> rotations) {
  auto deals = [&](unsigned other) {
    const Placement::Pin &pin = input.placement.pins[other];
    return std::tuple(pin.sms, pin.smLane,
                      input.dependences.getTask(other).getNumVCTAs());
  };
  for (const Dependence &dependence : input.dependences.getIncoming(task))
    if (input.placement.wantsNoSync(dependence.producer, task) &&
        deals(dependence.producer) == deals(task))
      return rotations[dependence.producer];
  return std::nullopt;
}

ScheduledLanes
RoundRobinScheduler::schedule(const SchedulerInput &input) const {
  int64_t allSms = input.target.getSms();
  ScheduledLanes lanes(allSms * input.placement.smLanes.size());
  std::vector<double> load(lanes.size(), 0);
  SmallVector<int64_t> rotations;
  for (auto [position, task] : llvm::enumerate(input.dependences.getTasks())) {
    const Placement::Pin &pin = input.placement.pins[position];
    int64_t sms = pin.sms.second - pin.sms.first;
    int64_t first = pin.smLane * allSms + pin.sms.first;
    int64_t count = TaskOp(task).getNumVCTAs();

    SmallVector<double> shares;
    for (int64_t sm = 0; sm < sms; ++sm) {
      auto [begin, end] = getEvenRange(sm, count, sms);
      shares.push_back(input.costs.getWorkItemNs(position, begin, end));
    }
    MutableArrayRef<double> loads(load.data() + first, sms);
    std::optional<int64_t> tied = findTiedRotation(input, position, rotations);
    int64_t rotation = tied ? *tied : chooseRotation(loads, shares);
    rotations.push_back(rotation);
    for (int64_t sm = 0; sm < sms; ++sm) {
      int64_t rotated = (sm + sms - rotation) % sms;
      auto [begin, end] = getEvenRange(rotated, count, sms);
      // Empty ranges stay, so that all SMs have the same items.
      lanes[first + sm].push_back(
          {static_cast<unsigned>(position), begin, end});
      loads[sm] += shares[rotated];
    }
  }
  return lanes;
}

const Scheduler &mlir::ark::getRoundRobinScheduler() {
  static const RoundRobinScheduler scheduler;
  return scheduler;
}
