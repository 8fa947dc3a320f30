//===- SemaphorePlan.cpp - Plan the signals and waits of lanes ------------===//
//
// Visits work items in an order in which they can happen. A work item that
// depends on an item that is not ordered before it gets a wait. The wait orders
// earlier items of the other lane, too, so that later dependences often need no
// wait. Every wait is hence added for a dependence that no earlier wait orders.
// Waits that are added later cannot order this dependence either, because they
// precede later work items.
//
//===----------------------------------------------------------------------===//

#include "passes/synchronization/SemaphorePlan.h"
#include "dialects/ark/ArkDomains.h"
#include "passes/synchronization/HandoffChoice.h"
#include "passes/synchronization/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::ark;

namespace {
class SemaphorePlanner {
public:
  explicit SemaphorePlanner(const SynchronizationInput &input)
      : input(input), chooser(input), happensBefore(input.schedule) {}

  SemaphorePlan plan();

private:
  struct Semaphore {
    PlannedSemaphore planned;
    /// The clock of all signals, which a waiter knows after its wait.
    Clock clock;
    /// Clock that all waiters know before they wait.
    Clock known;
    /// The first waiter with each clock, by the index of the clock.
    llvm::DenseMap<unsigned, ItemRef> waiterWithClock;
  };

  void visit(ItemRef workItem);
  bool meets(const Clock &clock, ItemRef workItem,
             WorkItemDependences::Need need) const;
  unsigned getSemaphore(unsigned task, ArrayRef<ItemRef> items);
  void dropRedundant(ItemRef workItem, SmallVectorImpl<unsigned> &chosen) const;
  void addWait(ItemRef workItem, Semaphore &semaphore, unsigned index,
               const Clock &known);
  void addWaits(ItemRef workItem, ArrayRef<unsigned> chosen);
  void trimSignals();
  void mergeEqualWaits();
  void findBarriers();

  const SynchronizationInput &input;
  HandoffChooser chooser;
  HappensBefore happensBefore;
  std::vector<Semaphore> semaphores;
  TupleIndices indexOfSignals;
  /// The items of each hand-off, and the semaphore of each hand-off.
  TupleIndices indexOfHandoff;
  SmallVector<unsigned> semaphoreOfHandoff;
  SemaphorePlan result;
};
} // namespace

/// Returns true if a lane with this clock may start a work item: the producers
/// of `need` have run.
bool SemaphorePlanner::meets(const Clock &clock, ItemRef workItem,
                             WorkItemDependences::Need need) const {
  return llvm::all_of(
      input.workItemDependences.getItems(need.items), [&](ItemRef item) {
        return item.lane == workItem.lane || HappensBefore::knows(clock, item);
      });
}

/// Returns items as a tuple of integers.
static SmallVector<int64_t> getKey(ArrayRef<ItemRef> items) {
  SmallVector<int64_t> key;
  for (ItemRef item : items)
    key.append({item.lane, item.item});
  return key;
}

/// Returns the semaphore that exactly these items signal.
unsigned SemaphorePlanner::getSemaphore(unsigned task,
                                        ArrayRef<ItemRef> items) {
  // Many work items wait for the same items. The clocks at these items, which
  // have been visited, do not change any more.
  auto [handoff, isNewHandoff] = indexOfHandoff.insert(getKey(items));
  if (!isNewHandoff)
    return semaphoreOfHandoff[handoff];
  SmallVector<ItemRef> signals(items);
  Clock clock = happensBefore.joinAfter(signals);
  auto [index, isNew] = indexOfSignals.insert(getKey(signals));
  if (isNew) {
    Semaphore &semaphore = semaphores.emplace_back();
    semaphore.planned = {task, std::move(signals), {}};
    semaphore.clock = std::move(clock);
  }
  semaphoreOfHandoff.push_back(index);
  return index;
}

/// Drops redundant waits before a work item: a wait that was chosen later may
/// order the dependence for which an earlier wait was chosen.
void SemaphorePlanner::dropRedundant(ItemRef workItem,
                                     SmallVectorImpl<unsigned> &chosen) const {
  if (chosen.size() < 2)
    return;
  // For each wait, the joined clocks of the semaphores after it. With many
  // ranks, a work item has a wait for each of them.
  size_t lanes = input.schedule.lanes.size();
  std::vector<Clock> later(chosen.size(), Clock(lanes, 0));
  for (size_t i = chosen.size() - 1; i > 0; --i) {
    later[i - 1] = later[i];
    joinClock(later[i - 1], semaphores[chosen[i]].clock);
  }
  // The clock of the lane after the waits that stay.
  Clock kept = happensBefore.getClock(workItem.lane);
  SmallVector<unsigned> result;
  for (size_t i = 0; i < chosen.size(); ++i) {
    bool isLast = result.empty() && i + 1 == chosen.size();
    joinClock(later[i], kept);
    bool redundant =
        !isLast && llvm::all_of(input.workItemDependences.getNeeds(workItem),
                                [&](WorkItemDependences::Need need) {
                                  return meets(later[i], workItem, need);
                                });
    if (redundant)
      continue;
    joinClock(kept, semaphores[chosen[i]].clock);
    result.push_back(chosen[i]);
  }
  chosen = std::move(result);
}

void SemaphorePlanner::visit(ItemRef workItem) {
  auto getLast = [&](WorkItemDependences::Need need) {
    unsigned last = 0;
    for (ItemRef item : input.workItemDependences.getItems(need.items))
      last = std::max(last, chooser.getPosition(item));
    return last;
  };
  auto isLocal = [&](WorkItemDependences::Need need) {
    return llvm::all_of(
        input.workItemDependences.getItems(need.items),
        [&](ItemRef item) { return item.lane == workItem.lane; });
  };
  // Visits the latest producer first, because its clock includes most items of
  // earlier producers.
  SmallVector<std::pair<unsigned, WorkItemDependences::Need>> needs;
  for (WorkItemDependences::Need need :
       input.workItemDependences.getNeeds(workItem))
    if (!isLocal(need))
      needs.push_back({getLast(need), need});
  llvm::stable_sort(needs, [](auto &a, auto &b) { return a.first > b.first; });

  unsigned task = input.schedule.getItem(workItem).index;
  // Stays empty for most work items, which need no wait.
  std::optional<Clock> learned;
  SmallVector<unsigned> chosen;
  for (auto [last, need] : needs) {
    ++result.numDependences;
    if (meets(learned ? *learned : happensBefore.getClock(workItem.lane),
              workItem, need)) {
      ++result.numImplied;
      continue;
    }
    unsigned semaphore =
        getSemaphore(need.producer, chooser.choose(task, need));
    if (!learned)
      learned = happensBefore.getClock(workItem.lane);
    joinClock(*learned, semaphores[semaphore].clock);
    chosen.push_back(semaphore);
  }
  dropRedundant(workItem, chosen);
  addWaits(workItem, chosen);
}

/// Records that a work item waits for a semaphore. `known` is the clock of the
/// lane before this wait, and `index` identifies this clock.
void SemaphorePlanner::addWait(ItemRef workItem, Semaphore &semaphore,
                               unsigned index, const Clock &known) {
  auto [first, isNew] = semaphore.waiterWithClock.try_emplace(index, workItem);
  if (!isNew) {
    // An earlier waiter has the same clock. The two waiters differ only in the
    // items of their own lanes.
    unsigned &ofFirst = semaphore.known[first->second.lane];
    ofFirst = std::min(ofFirst, known[first->second.lane]);
  } else {
    // The clock of a lane does not contain the lane's own items.
    Clock own = known;
    own[workItem.lane] = workItem.item;
    if (semaphore.planned.waits.empty())
      semaphore.known = std::move(own);
    else
      for (size_t lane = 0; lane < own.size(); ++lane)
        semaphore.known[lane] = std::min(semaphore.known[lane], own[lane]);
  }
  semaphore.planned.waits.push_back(workItem);
}

/// Adds waits for semaphores before a work item. Each wait has a clock of its
/// own. Only the clock after the last wait is kept: with many ranks, a work
/// item waits for each of them.
void SemaphorePlanner::addWaits(ItemRef workItem, ArrayRef<unsigned> chosen) {
  if (chosen.empty())
    return;
  Clock known = happensBefore.getClock(workItem.lane);
  unsigned index = happensBefore.getClockIndex(workItem.lane);
  for (unsigned number : chosen) {
    Semaphore &semaphore = semaphores[number];
    addWait(workItem, semaphore, index, known);
    joinClock(known, semaphore.clock);
    index = happensBefore.join(index, number);
  }
  happensBefore.learn(workItem, index, [&] { return std::move(known); });
}

/// Removes the signals of items that every waiter knows to have run without
/// waiting, such as items of its own lane.
void SemaphorePlanner::trimSignals() {
  for (Semaphore &semaphore : semaphores)
    if (!semaphore.planned.waits.empty())
      llvm::erase_if(semaphore.planned.signals, [&](ItemRef item) {
        return HappensBefore::knows(semaphore.known, item);
      });
}

/// Merges semaphores for which the same work items wait.
void SemaphorePlanner::mergeEqualWaits() {
  std::map<std::vector<ItemRef>, unsigned> byWaits;
  for (auto [index, semaphore] : llvm::enumerate(semaphores)) {
    PlannedSemaphore &planned = semaphore.planned;
    if (planned.waits.empty())
      continue;
    std::vector<ItemRef> waits(planned.waits.begin(), planned.waits.end());
    llvm::sort(waits);
    auto [entry, isNew] = byWaits.try_emplace(std::move(waits), index);
    if (isNew)
      continue;
    PlannedSemaphore &other = semaphores[entry->second].planned;
    other.task = std::max(other.task, planned.task);
    llvm::append_range(other.signals, planned.signals);
    planned.waits.clear();
    // The later of two signals of one lane implies the earlier signal.
    llvm::sort(other.signals);
    happensBefore.joinAfter(other.signals);
    auto isImplied = [&](ItemRef item) {
      return llvm::any_of(other.signals, [&](ItemRef later) {
        return later.lane == item.lane && later.item > item.item;
      });
    };
    SmallVector<ItemRef> kept;
    for (ItemRef item : other.signals)
      if (!isImplied(item))
        kept.push_back(item);
    kept.erase(llvm::unique(kept), kept.end());
    other.signals = std::move(kept);
  }
}

/// Returns true if a lane runs nothing between its signal and its wait.
static bool isAdjacent(const ExpandedLane &lane, unsigned signal,
                       unsigned wait) {
  for (unsigned item = signal + 1; item < wait; ++item)
    if (lane.items[item].isRun() &&
        lane.items[item].begin != lane.items[item].end)
      return false;
  return signal < wait;
}

/// Converts a semaphore that all lanes signal and wait for to a barrier: one
/// item instead of two.
void SemaphorePlanner::findBarriers() {
  size_t lanes = input.schedule.lanes.size();
  double split = input.costs.getHandoffNs(lanes) + input.costs.getSignalNs();
  if (lanes < 2 || input.costs.getBarrierNs() > split)
    return;
  // The signal of a lane that copies to another domain is for the receiver
  // only.
  auto isNetworkCopy = [&](ItemRef item) {
    TaskOp task = input.dependences.getTask(input.schedule.getItem(item).index);
    return getNetworkPeer(task).has_value();
  };
  for (PlannedSemaphore &semaphore : result.semaphores) {
    if (semaphore.signals.size() != lanes || semaphore.waits.size() != lanes ||
        llvm::any_of(semaphore.signals, isNetworkCopy))
      continue;
    llvm::sort(semaphore.waits);
    semaphore.isBarrier = llvm::all_of(
        llvm::zip(semaphore.signals, semaphore.waits), [&](auto pair) {
          auto [signal, wait] = pair;
          return signal.lane == wait.lane &&
                 isAdjacent(input.schedule.lanes[wait.lane], signal.item,
                            wait.item);
        });
  }
}

SemaphorePlan SemaphorePlanner::plan() {
  for (ItemRef workItem : input.timeline.order)
    visit(workItem);
  trimSignals();
  mergeEqualWaits();
  for (Semaphore &semaphore : semaphores)
    if (!semaphore.planned.waits.empty())
      result.semaphores.push_back(std::move(semaphore.planned));
  auto getFirst = [&](const PlannedSemaphore &semaphore) {
    unsigned first = ~0u;
    for (ItemRef item : semaphore.signals)
      first = std::min(first, chooser.getPosition(item));
    return first;
  };
  llvm::stable_sort(result.semaphores, [&](auto &a, auto &b) {
    return getFirst(a) < getFirst(b);
  });
  findBarriers();
  return std::move(result);
}

SemaphorePlan mlir::ark::planSemaphores(const SynchronizationInput &input) {
  return SemaphorePlanner(input).plan();
}
