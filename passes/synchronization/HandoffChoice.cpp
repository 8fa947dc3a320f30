//===- HandoffChoice.cpp - Share semaphores between waiters ---------------===//

#include "passes/synchronization/HandoffChoice.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

HandoffChooser::HandoffChooser(const SynchronizationInput &input)
    : input(input), workItemsOf(input.dependences.getTasks().size()) {
  for (const ExpandedLane &lane : input.schedule.lanes)
    positions.emplace_back(lane.items.size());
  for (auto [position, item] : llvm::enumerate(input.timeline.order)) {
    positions[item.lane][item.item] = position;
    workItemsOf[input.schedule.getItem(item).index].push_back(item);
  }
}

ArrayRef<ItemRef> HandoffChooser::choose(unsigned consumer,
                                         WorkItemDependences::Need need) {
  if (!decisions.contains({need.producer, consumer}))
    decide(need.producer, consumer);
  return decisions[{need.producer, consumer}][need.items];
}

/// Returns true if all items precede all work items in the order of the
/// timeline. Only then can additional waits not create a cycle.
bool HandoffChooser::precede(ArrayRef<ItemRef> items,
                             ArrayRef<ItemRef> workItems) const {
  unsigned last = 0, first = ~0u;
  for (ItemRef item : items)
    last = std::max(last, getPosition(item));
  for (ItemRef workItem : workItems)
    first = std::min(first, getPosition(workItem));
  return last < first;
}

/// Returns the cost of some classes: the sum of the times at which waiters
/// proceed, and the cost of their signals.
double HandoffChooser::getCost(ArrayRef<Class> classes) const {
  double cost = 0;
  for (const Class &waiters : classes) {
    double ready = 0;
    for (ItemRef item : waiters.handoff)
      ready = std::max(ready, input.timeline.at(item).getEnd());
    ready += input.costs.getHandoffNs(waiters.handoff.size());
    for (ItemRef workItem : waiters.workItems)
      cost += std::max(ready, input.timeline.at(workItem).start);
    cost += input.costs.getSignalNs() * waiters.handoff.size();
  }
  return cost;
}

/// Unites items, keeping only the last item of each lane.
static void uniteItems(SmallVectorImpl<ItemRef> &items,
                       ArrayRef<ItemRef> others) {
  llvm::append_range(items, others);
  keepLastOfLane(items);
}

/// Until the number of classes is within the limit, joins classes with similar
/// needs: all of their work items wait for the same items.
void HandoffChooser::mergeNeighbours(MutableArrayRef<Class> classes) const {
  llvm::sort(classes, [](const Class &a, const Class &b) {
    return std::lexicographical_compare(a.handoff.begin(), a.handoff.end(),
                                        b.handoff.begin(), b.handoff.end());
  });
  size_t groupSize =
      (classes.size() + input.maxSemaphores - 1) / input.maxSemaphores;
  for (size_t first = 0; first < classes.size(); first += groupSize) {
    MutableArrayRef<Class> group =
        classes.slice(first, std::min(groupSize, classes.size() - first));
    SmallVector<ItemRef> items, workItems;
    for (const Class &member : group) {
      uniteItems(items, member.handoff);
      llvm::append_range(workItems, member.workItems);
    }
    if (!precede(items, workItems))
      continue;
    for (Class &member : group)
      member.handoff = items;
  }
}

void HandoffChooser::decide(unsigned producer, unsigned consumer) {
  llvm::MapVector<unsigned, Class> byNeed;
  for (ItemRef workItem : workItemsOf[consumer])
    for (WorkItemDependences::Need need :
         input.workItemDependences.getNeeds(workItem))
      if (need.producer == producer) {
        Class &waiters = byNeed[need.items];
        waiters.items = need.items;
        waiters.workItems.push_back(workItem);
      }
  SmallVector<Class> precise;
  for (auto &[need, waiters] : byNeed) {
    waiters.handoff.assign(input.workItemDependences.getItems(need));
    precise.push_back(std::move(waiters));
  }

  // The work items of a task that depends on itself wait only for the items
  // that they need: the whole task is never complete before one of its work
  // items.
  if (producer != consumer && precise.size() > 1) {
    SmallVector<ItemRef> workItems;
    for (const Class &member : precise)
      llvm::append_range(workItems, member.workItems);
    Class whole = {0, workItems, {}};
    whole.handoff.assign(input.workItemDependences.getLastWorkItems(producer));
    if (precise.size() > input.maxSemaphores)
      mergeNeighbours(precise);
    if (precede(whole.handoff, workItems) && getCost(whole) <= getCost(precise))
      for (Class &member : precise)
        member.handoff = whole.handoff;
  }
  auto &decided = decisions[{producer, consumer}];
  for (Class &member : precise)
    decided[member.items] = std::move(member.handoff);
}
