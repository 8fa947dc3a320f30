//===- EmitSynchronization.cpp - Emit a semaphore plan as IR --------------===//

#include "passes/synchronization/EmitSynchronization.h"

#include "lib/analysis/Packets.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// An item to emit: an original item of the lane, or an item of a semaphore.
struct Step {
  LaneItem::Kind kind;
  /// The original work item or prefetch, or the work item next to which the
  /// semaphore's item is emitted.
  Operation *at;
  unsigned semaphore;

  bool operator==(const Step &other) const {
    return kind == other.kind && at == other.at && semaphore == other.semaphore;
  }
};

class SynchronizationEmitter {
public:
  SynchronizationEmitter(const ExpandedSchedule &schedule,
                         const Dependences &dependences,
                         const SemaphorePlan &plan)
      : schedule(schedule), dependences(dependences), plan(plan),
        builder(ScheduleOp(schedule.op).getContext()) {}

  SynchronizationCounts emit();

private:
  void collectSteps();
  int64_t getRank(ItemRef item);
  HandoffKind getKind(const PlannedSemaphore &semaphore);
  void emitSemaphores(int64_t lanes);
  void emitLane(LaneOp original, Interval sms, ArrayRef<Step> steps);
  void emitStep(const Step &step);
  StringRef getUniqueName(StringRef base);

  const ExpandedSchedule &schedule;
  const Dependences &dependences;
  const SemaphorePlan &plan;
  OpBuilder builder;
  /// Steps of every lane.
  std::vector<std::vector<Step>> steps;
  llvm::StringSet<> usedNames;
  /// Names of the plan's semaphores, then of the final barrier.
  SmallVector<FlatSymbolRefAttr> names;
  SynchronizationCounts counts;
};
} // namespace

void SynchronizationEmitter::collectSteps() {
  using Kind = LaneItem::Kind;
  // Steps to emit before and after every item.
  struct Around {
    SmallVector<Step, 1> barriers, waits, signals;
  };
  std::vector<std::vector<Around>> around;
  for (const ExpandedLane &lane : schedule.lanes)
    around.emplace_back(lane.items.size());
  for (auto [i, semaphore] : llvm::enumerate(plan.semaphores)) {
    unsigned index = i;
    for (ItemRef item : semaphore.waits) {
      Operation *run = schedule.getItem(item).op;
      Around &there = around[item.lane][item.item];
      if (semaphore.isBarrier)
        there.barriers.push_back({Kind::Barrier, run, index});
      else
        there.waits.push_back({Kind::Wait, run, index});
    }
    if (!semaphore.isBarrier)
      for (ItemRef item : semaphore.signals)
        around[item.lane][item.item].signals.push_back(
            {Kind::Signal, schedule.getItem(item).op, index});
  }

  for (auto [lane, there] : llvm::zip(schedule.lanes, around)) {
    std::vector<Step> &ofLane = steps.emplace_back();
    for (auto [item, extra] : llvm::zip(lane.items, there)) {
      if (item.begin == item.end)
        continue;
      // A barrier comes first, because it signals, and other lanes may wait for
      // this lane.
      llvm::append_range(ofLane, extra.barriers);
      llvm::append_range(ofLane, extra.waits);
      ofLane.push_back({item.kind, item.op, 0});
      llvm::append_range(ofLane, extra.signals);
    }
    bool hasRun = llvm::any_of(
        ofLane, [](const Step &step) { return step.kind == Kind::Run; });
    if (!hasRun)
      ofLane.clear();
  }
}

StringRef SynchronizationEmitter::getUniqueName(StringRef base) {
  std::string name = base.str();
  for (unsigned number = 1; !usedNames.insert(name).second; ++number)
    name = (base + "." + Twine(number)).str();
  return usedNames.find(name)->getKey();
}

int64_t SynchronizationEmitter::getRank(ItemRef item) {
  ScheduleOp op = schedule.op;
  int64_t ranks = cast<ProgramOp>(op->getParentOp()).getNumRanks();
  return schedule.lanes[item.lane].sm * ranks /
         static_cast<int64_t>(op.getSms());
}

/// Returns the kind of hand-off of a semaphore. Hand-offs between ranks have
/// special kinds, since stores must reach the other device before the signal.
/// Rank packets carry their epoch and need no signal, so the kind is `packet`
/// if all signalled data are rank packets.
HandoffKind SynchronizationEmitter::getKind(const PlannedSemaphore &semaphore) {
  if (semaphore.isBarrier)
    return HandoffKind::Barrier;
  auto isElsewhere = [&](ItemRef item) {
    return getRank(item) != getRank(semaphore.signals.front());
  };
  if (!llvm::any_of(semaphore.signals, isElsewhere) &&
      !llvm::any_of(semaphore.waits, isElsewhere))
    return HandoffKind::Counter;
  bool arePackets = llvm::all_of(semaphore.signals, [&](ItemRef item) {
    TaskOp task = dependences.getTask(schedule.getItem(item).index);
    return !findPacketObstacle(task);
  });
  return arePackets ? HandoffKind::Packet : HandoffKind::Peer;
}

void SynchronizationEmitter::emitSemaphores(int64_t lanes) {
  auto create = [&](Location loc, StringRef base, int64_t arrivals,
                    HandoffKind kind) {
    StringRef name = getUniqueName(base);
    SemaphoreOp::create(builder, loc, name, arrivals, kind);
    names.push_back(FlatSymbolRefAttr::get(builder.getContext(), name));
    ++counts.semaphores;
  };
  for (const PlannedSemaphore &semaphore : plan.semaphores) {
    TaskOp task = dependences.getTask(semaphore.task);
    create(task.getLoc(), task.getName(), semaphore.signals.size(),
           getKind(semaphore));
  }
  create(ScheduleOp(schedule.op).getLoc(), "end", lanes, HandoffKind::Barrier);
}

void SynchronizationEmitter::emitStep(const Step &step) {
  Location loc = step.at->getLoc();
  switch (step.kind) {
  case LaneItem::Kind::Run:
  case LaneItem::Kind::Prefetch:
    builder.clone(*step.at);
    return;
  case LaneItem::Kind::Signal:
    SignalOp::create(builder, loc, names[step.semaphore]);
    return;
  case LaneItem::Kind::Wait:
    WaitOp::create(builder, loc, names[step.semaphore]);
    return;
  case LaneItem::Kind::Barrier:
    BarrierOp::create(builder, loc, names[step.semaphore]);
    return;
  }
}

void SynchronizationEmitter::emitLane(LaneOp original, Interval sms,
                                      ArrayRef<Step> ofLane) {
  auto lane =
      LaneOp::create(builder, original.getLoc(),
                     builder.getDenseI64ArrayAttr({sms.first, sms.second}),
                     original.getWarpsAttr(), original.getSharedMemoryAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&lane.getBody());
  for (const Step &step : ofLane)
    emitStep(step);
  // No lane may begin the next iteration before all lanes have ended this one.
  BarrierOp::create(builder, original.getLoc(), names.back());

  int64_t copies = sms.second - sms.first;
  counts.barriers += copies;
  for (const Step &step : ofLane) {
    counts.waits += step.kind == LaneItem::Kind::Wait ? copies : 0;
    counts.signals += step.kind == LaneItem::Kind::Signal ? copies : 0;
    counts.barriers += step.kind == LaneItem::Kind::Barrier ? copies : 0;
  }
}

SynchronizationCounts SynchronizationEmitter::emit() {
  collectSteps();
  int64_t lanes =
      llvm::count_if(steps, [](auto &ofLane) { return !ofLane.empty(); });
  ScheduleOp op = schedule.op;
  SmallVector<LaneOp> originals(op.getBody().getOps<LaneOp>());
  if (lanes > 0) {
    builder.setInsertionPointToStart(&op.getBody().front());
    emitSemaphores(lanes);
  }
  builder.setInsertionPointToEnd(&op.getBody().front());
  for (unsigned lane = 0; lane < schedule.lanes.size();) {
    // Neighbouring SMs of one lane op with equal steps share a lane op.
    unsigned first = lane++;
    while (lane < schedule.lanes.size() &&
           schedule.lanes[lane].op == schedule.lanes[first].op &&
           steps[lane] == steps[first])
      ++lane;
    if (!steps[first].empty())
      emitLane(schedule.lanes[first].op,
               {schedule.lanes[first].sm, schedule.lanes[lane - 1].sm + 1},
               steps[first]);
  }
  for (LaneOp original : originals)
    original.erase();
  return counts;
}

SynchronizationCounts
mlir::ark::emitSynchronization(const ExpandedSchedule &schedule,
                               const Dependences &dependences,
                               const SemaphorePlan &plan) {
  return SynchronizationEmitter(schedule, dependences, plan).emit();
}
