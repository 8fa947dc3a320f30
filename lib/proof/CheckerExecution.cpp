//===- CheckerExecution.cpp - Abstract execution of a schedule ------------===//

#include "lib/proof/CheckerExecution.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

Execution::Execution(ScheduleOp schedule, const ProgramAccesses &program,
                     ArrayRef<Lane> lanes, ArrayRef<Item> positions)
    : lanes(lanes), senders(program, lanes, positions) {
  for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>()) {
    semaphoreIndices.try_emplace(semaphore.getSymName(), semaphores.size());
    semaphores.push_back(
        {semaphore, static_cast<int64_t>(semaphore.getArrivals()), {}, {}, {}});
  }
  // Clock 0: no item is known to have happened.
  clocks.emplace_back();
  acquisitions.push_back({0, 0, 0});
  clockChanges.assign(lanes.size(), {{0, 0}});
  next.assign(lanes.size(), 0);
  arrived.assign(lanes.size(), false);
  happened.assign(senders.getNumSets(), 0);
}

uint32_t Execution::getClockIndex(unsigned lane, unsigned item) const {
  const std::vector<ClockChange> &ofLane = clockChanges[lane];
  size_t low = 0, high = ofLane.size();
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    (ofLane[middle].firstItem <= item ? low : high) = middle;
  }
  uint32_t clock = acquisitions[ofLane[low].acquisition].clock;
  assert(clock != Acquisition::kNoClock && "clock of a wait");
  return clock;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

/// Returns the semaphore of an item, or null. Sets `signals` and `waits` by the
/// kind of the item.
Execution::Semaphore *Execution::getSemaphore(Operation *item, bool &signals,
                                              bool &waits) {
  StringRef name;
  signals = waits = false;
  if (auto signal = dyn_cast<SignalOp>(item)) {
    signals = true;
    name = signal.getSemaphore();
  } else if (auto wait = dyn_cast<WaitOp>(item)) {
    waits = true;
    name = wait.getSemaphore();
  } else if (auto barrier = dyn_cast<BarrierOp>(item)) {
    signals = waits = true;
    name = barrier.getSemaphore();
  } else {
    return nullptr;
  }
  return &semaphores[semaphoreIndices.lookup(name)];
}

/// Releases all items of the lane before this one, and all items that the lane
/// has acquired.
void Execution::signal(unsigned lane, Semaphore &semaphore) {
  uint32_t index = makeClock(lane);
  if (semaphore.joined.insert(index).second)
    semaphore.clock.join(clocks[index], allocator);
  semaphore.clock.raise(lane, next[lane], allocator);
  if (--semaphore.missing == 0) {
    ready.append(semaphore.waiting);
    semaphore.waiting.clear();
  }
}

/// Returns the index of a lane's clock. Joins the clocks of the semaphores that
/// the lane has acquired since it last had a clock: all signals of an acquired
/// semaphore have happened, so that its clock does not change any more.
uint32_t Execution::makeClock(unsigned lane) {
  uint32_t last = clockChanges[lane].back().acquisition;
  if (acquisitions[last].clock != Acquisition::kNoClock)
    return acquisitions[last].clock;
  Clock clock;
  uint32_t index = last;
  for (; acquisitions[index].clock == Acquisition::kNoClock;
       index = acquisitions[index].previous)
    clock.join(semaphores[acquisitions[index].semaphore].clock, allocator);
  clock.join(clocks[acquisitions[index].clock], allocator);
  acquisitions[last].clock = clocks.size();
  clocks.push_back(std::move(clock));
  return acquisitions[last].clock;
}

void Execution::acquire(unsigned lane, const Semaphore &semaphore) {
  uint32_t previous = clockChanges[lane].back().acquisition;
  uint32_t index = &semaphore - semaphores.data();
  auto [entry, isNew] =
      acquired.try_emplace({previous, index}, acquisitions.size());
  if (isNew)
    acquisitions.push_back({previous, index});
  clockChanges[lane].push_back({next[lane], entry->second});
}

/// Returns a work item that has not happened and whose packets the next work
/// item of a lane receives.
std::optional<Item> Execution::findMissingSender(unsigned lane) const {
  std::optional<uint32_t> set = senders.findSet({lane, next[lane]});
  if (!set)
    return std::nullopt;
  ArrayRef<Item> ofSet = senders.getSenders(*set);
  uint32_t &first = happened[*set];
  while (first < ofSet.size() && hasHappened(ofSet[first]))
    ++first;
  if (first == ofSet.size())
    return std::nullopt;
  return ofSet[first];
}

/// Executes the next item of a lane. Returns false if the lane has to wait.
bool Execution::step(unsigned lane) {
  if (isa<RunOp>(lanes[lane].items[next[lane]])) {
    std::optional<Item> missing = findMissingSender(lane);
    if (missing)
      receivers[*missing].push_back(lane);
    else
      makeClock(lane);
    return !missing;
  }
  bool signals, waits;
  Semaphore *semaphore =
      getSemaphore(lanes[lane].items[next[lane]], signals, waits);
  if (!semaphore)
    return true;
  if (signals && !arrived[lane])
    signal(lane, *semaphore);
  if (!waits)
    return true;
  arrived[lane] = true;
  if (semaphore->missing > 0) {
    semaphore->waiting.push_back(lane);
    return false;
  }
  arrived[lane] = false;
  acquire(lane, *semaphore);
  return true;
}

LogicalResult Execution::run() {
  for (unsigned lane = 0; lane < lanes.size(); ++lane)
    ready.push_back(lane);
  while (!ready.empty()) {
    unsigned lane = ready.pop_back_val();
    while (isStuck(lane) && step(lane))
      if (auto waiting = receivers.find({lane, next[lane]++});
          waiting != receivers.end())
        ready.append(waiting->second);
  }
  for (unsigned lane = 0; lane < lanes.size(); ++lane)
    if (isStuck(lane))
      return reportDeadlock();
  return success();
}

//===----------------------------------------------------------------------===//
// Deadlocks
//===----------------------------------------------------------------------===//

/// Returns a signal or barrier that has not happened and adds to a semaphore.
std::optional<Item> Execution::findMissingSignal(StringRef semaphore) const {
  for (unsigned lane = 0; lane < lanes.size(); ++lane)
    for (unsigned item = next[lane]; item < lanes[lane].items.size(); ++item) {
      Operation *op = lanes[lane].items[item];
      auto signal = dyn_cast<SignalOp>(op);
      auto barrier = dyn_cast<BarrierOp>(op);
      bool given = item == next[lane] && arrived[lane];
      if ((signal && signal.getSemaphore() == semaphore) ||
          (barrier && barrier.getSemaphore() == semaphore && !given))
        return Item{lane, item};
    }
  return std::nullopt;
}

static StringRef getSemaphoreName(Operation *item) {
  return cast<FlatSymbolRefAttr>(item->getAttr("semaphore")).getValue();
}

static std::string describeVctas(RunOp run, int64_t sm) {
  auto [begin, end] = run.getRangeOn(sm);
  return ("vCTAs [" + Twine(begin) + ", " + Twine(end) + ") of '" +
          run.getTask() + "'")
      .str();
}

/// Describes the next work item of a lane after an item, or the last one before
/// it.
static std::string describeWorkItem(const Lane &lane, unsigned item,
                                    bool after) {
  for (int64_t i = item; i >= 0 && i < int64_t(lane.items.size());
       i += after ? 1 : -1)
    if (auto run = dyn_cast<RunOp>(lane.items[i]))
      return (Twine(after ? "before" : "after") + " it runs " +
              describeVctas(run, lane.sm))
          .str();
  return after ? "at its end" : "at its start";
}

/// Describes the wait of a stuck lane.
std::string Execution::describeWait(unsigned lane) const {
  Operation *item = lanes[lane].items[next[lane]];
  std::string awaited = isa<RunOp>(item)
                            ? "packets"
                            : ("'@" + getSemaphoreName(item) + "'").str();
  return ("SM " + Twine(lanes[lane].sm) + " waits for " + awaited + " " +
          describeWorkItem(lanes[lane], next[lane], /*after=*/true))
      .str();
}

/// Describes how a lane would end the wait of another lane.
static std::string describeRelease(const Lane &lane, unsigned item) {
  Operation *op = lane.items[item];
  std::string sm = ("SM " + Twine(lane.sm)).str();
  if (auto run = dyn_cast<RunOp>(op))
    return sm + " sends them when it runs " + describeVctas(run, lane.sm);
  return (sm + " signals '@" + getSemaphoreName(op) + "' " +
          describeWorkItem(lane, item, /*after=*/false))
      .str();
}

/// Reports a deadlock: follows the waits of stuck lanes until a lane repeats,
/// or until no lane has an item that adds the missing arrival.
LogicalResult Execution::reportDeadlock() {
  struct Wait {
    unsigned lane;
    Item release;
  };
  SmallVector<Wait> path;
  unsigned lane = 0;
  while (!isStuck(lane))
    ++lane;
  while (llvm::none_of(path, [&](Wait wait) { return wait.lane == lane; })) {
    Operation *item = lanes[lane].items[next[lane]];
    auto missing = isa<RunOp>(item) ? findMissingSender(lane)
                                    : findMissingSignal(getSemaphoreName(item));
    if (!missing)
      return item->emitOpError("waits for arrivals at '@")
             << getSemaphoreName(item) << "' that no lane signals (deadlock)";
    path.push_back({lane, *missing});
    lane = missing->lane;
  }
  path.erase(path.begin(),
             llvm::find_if(path, [&](Wait wait) { return wait.lane == lane; }));

  Operation *first = lanes[path.front().lane].items[next[path.front().lane]];
  InFlightDiagnostic diagnostic = first->emitOpError("never ends (deadlock): ")
                                  << describeWait(path.front().lane);
  for (Wait wait : path) {
    const Lane &releasing = lanes[wait.release.lane];
    diagnostic.attachNote(releasing.items[wait.release.item]->getLoc())
        << describeRelease(releasing, wait.release.item);
    diagnostic.attachNote(releasing.items[next[wait.release.lane]]->getLoc())
        << "but before that, " << describeWait(wait.release.lane);
  }
  return diagnostic;
}
