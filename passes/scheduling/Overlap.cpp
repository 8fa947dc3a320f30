//===- Overlap.cpp - Exchange data between ranks beside computation -------===//
//
// A few SMs saturate the links between GPUs, and a single SM has more than its
// share of the bandwidth if the other SMs compute. This scheduler keeps some
// SMs of each rank for large exchanges: puts, and tasks that read what other
// ranks have put. An exchange without a pin also uses the other SMs if it then
// ends earlier, for example after the last computation.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkDomains.h"
#include "lib/support/PlanRank.h"
#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// Lower bound of the bytes of a large exchange. Smaller exchanges end sooner
/// on all SMs (measured on two H200).
static constexpr int64_t kLargeBytes = 4 << 20;
/// Numbers of SMs of each rank to try if no plan pins an exchange.
static constexpr int64_t kReservedSms[] = {4, 8, 16};
/// Least ratio of the predicted times without and with reserved SMs if no plan
/// pins an exchange. Predictions of measured programs are 4 % too short without
/// reserved SMs, and 7 to 8 % too long with them (docs/how-to/simulating.md).
static constexpr double kMinGain = 1.05;

/// Returns true if a task depends on a task of another rank.
static bool readsOtherRank(const Dependences &dependences, unsigned task) {
  int64_t rank = getRank(TaskOp(dependences.getTask(task)));
  return llvm::any_of(
      dependences.getIncoming(task), [&](const Dependence &dependence) {
        TaskOp producer = dependences.getTask(dependence.producer);
        return dependence.hazard == Hazard::RAW && getRank(producer) != rank;
      });
}

/// Returns true if a task moves data from or to another rank, and its
/// arithmetic takes less time than the store of its results.
static bool isExchange(const SchedulerInput &input, unsigned task) {
  if (getNetworkPeer(TaskOp(input.dependences.getTask(task))))
    return false;
  const TaskCost &cost = input.costs.getTask(task);
  if (cost.remoteBytes == 0 && !readsOtherRank(input.dependences, task))
    return false;
  // Arithmetic limits a product, so the product is no exchange.
  return cost.flops / double(input.target.getFlops()) <
         cost.bytesWritten / double(input.target.getBandwidth());
}

/// Returns true if a task is an exchange of many bytes.
static bool isLargeExchange(const SchedulerInput &input, unsigned task) {
  const TaskCost &cost = input.costs.getTask(task);
  return cost.bytesRead + cost.bytesWritten >= kLargeBytes &&
         isExchange(input, task);
}

/// Returns the SMs that tasks of the same rank without a pin may use.
static Interval getSmsOfRank(const SchedulerInput &input, unsigned task) {
  int64_t rank = getRank(TaskOp(input.dependences.getTask(task)));
  return input.placement.smsOfRank[rank];
}

bool ark::hasPinnedExchange(const SchedulerInput &input) {
  ProgramOp program = input.program;
  if (program.getNumRanks() == 1)
    return false;
  int64_t tasks = input.dependences.getTasks().size();
  return llvm::any_of(llvm::seq<unsigned>(0, tasks), [&](unsigned task) {
    return input.placement.pins[task].sms != getSmsOfRank(input, task) &&
           isLargeExchange(input, task);
  });
}

bool ark::canHideExchange(const SchedulerInput &input) {
  ProgramOp program = input.program;
  if (program.getNumRanks() == 1)
    return false;
  double exchangeNs = 0, computationNs = 0;
  for (unsigned task = 0; task < input.placement.pins.size(); ++task) {
    if (isLargeExchange(input, task))
      exchangeNs += input.costs.getTaskNs(task);
    else if (!isExchange(input, task))
      computationNs += input.costs.getTaskNs(task);
  }
  // Computations can hide at most their own time.
  return exchangeNs > 0 &&
         computationNs > (kMinGain - 1) * (exchangeNs + computationNs);
}

/// Returns the longer part of `sms` before or after `reserved`.
static Interval getLongerRest(Interval sms, Interval reserved) {
  Interval before = {sms.first, reserved.first};
  Interval after = {reserved.second, sms.second};
  return before.second - before.first > after.second - after.first ? before
                                                                   : after;
}

/// Returns the SMs of each rank that large exchanges use: those to which plans
/// pin exchanges, or the first `sms` SMs.
static SmallVector<Interval> getReservedSms(const SchedulerInput &input,
                                            ArrayRef<bool> isExchange,
                                            int64_t sms) {
  ProgramOp program = input.program;
  SmallVector<std::optional<Interval>> pinned(program.getNumRanks());
  for (auto [task, pin] : llvm::enumerate(input.placement.pins)) {
    if (!isExchange[task] || pin.sms == getSmsOfRank(input, task))
      continue;
    auto &ofRank = pinned[getRank(TaskOp(input.dependences.getTask(task)))];
    if (!ofRank)
      ofRank = pin.sms;
    ofRank->first = std::min(ofRank->first, pin.sms.first);
    ofRank->second = std::max(ofRank->second, pin.sms.second);
  }
  SmallVector<Interval> reserved;
  for (auto [ofRank, all] : llvm::zip(pinned, input.placement.smsOfRank))
    reserved.push_back(ofRank.value_or(
        Interval(all.first, std::min(all.first + sms, all.second))));
  return reserved;
}

/// Reserves SMs of each rank for large exchanges, unless these are more than
/// half of the SMs. SMs that a plan names for an exchange are used as they are,
/// also beside computations.
static void reserveSms(const SchedulerInput &input, int64_t sms,
                       Placement &placement) {
  SmallVector<bool> isExchange;
  for (unsigned task = 0; task < placement.pins.size(); ++task)
    isExchange.push_back(isLargeExchange(input, task));
  SmallVector<Interval> ofRanks = getReservedSms(input, isExchange, sms);
  for (auto [task, pin] : llvm::enumerate(placement.pins)) {
    Interval smsOfRank = getSmsOfRank(input, task);
    Interval reserved =
        ofRanks[getRank(TaskOp(input.dependences.getTask(task)))];
    Interval rest = getLongerRest(smsOfRank, reserved);
    bool isFew = rest.second - rest.first >= reserved.second - reserved.first;
    if (isExchange[task] && pin.sms != smsOfRank)
      pin.preferred = pin.sms;
    else if (isExchange[task] && isFew)
      pin.preferred = reserved;
    else if (pin.sms == smsOfRank && isFew)
      pin.sms = rest;
  }
}

namespace {
/// Keeps `sms` SMs of each rank for exchanges.
class ReservedSmsScheduler : public Scheduler {
public:
  explicit ReservedSmsScheduler(int64_t sms) : sms(sms) {}

  StringRef getName() const override { return "overlap"; }

  double getHandicap() const override { return kMinGain; }

  ScheduledLanes schedule(const SchedulerInput &input) const override {
    Placement placement = input.placement;
    reserveSms(input, sms, placement);
    return getListScheduler().schedule({input.program, input.target, placement,
                                        input.dependences, input.costs});
  }

private:
  int64_t sms;
};

class OverlapScheduler : public Scheduler {
public:
  StringRef getName() const override { return "overlap"; }

  SmallVector<const Scheduler *>
  getCandidates(const SchedulerInput &input) const override {
    // A plan has decided how many SMs an exchange uses.
    if (hasPinnedExchange(input))
      return {this};
    static const SmallVector<ReservedSmsScheduler> schedulers(
        std::begin(kReservedSms), std::end(kReservedSms));
    return llvm::to_vector_of<const Scheduler *>(
        llvm::make_pointer_range(schedulers));
  }

  ScheduledLanes schedule(const SchedulerInput &input) const override {
    return ReservedSmsScheduler(kReservedSms[0]).schedule(input);
  }
};
} // namespace

const Scheduler &mlir::ark::getOverlapScheduler() {
  static const OverlapScheduler scheduler;
  return scheduler;
}
