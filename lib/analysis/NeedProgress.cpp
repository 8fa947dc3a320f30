//===- NeedProgress.cpp - Items that work items still need ----------------===//

#include "lib/analysis/NeedProgress.h"

using namespace mlir;
using namespace mlir::ark;

/// Adds an item. A set has one item for each lane.
void NeedProgress::Set::add(unsigned lane, double end) {
  if (end > last) {
    lastElsewhere = last;
    last = end;
    laneOfLast = lane;
  } else {
    lastElsewhere = std::max(lastElsewhere, end);
  }
}

std::optional<ItemRef>
NeedProgress::findMissing(ItemRef workItem,
                          llvm::function_ref<bool(ItemRef)> hasHappened) {
  for (WorkItemDependences::Need need : needs.getNeeds(workItem)) {
    Set &set = sets[need.items];
    ArrayRef<ItemRef> items = needs.getItems(need.items);
    for (; set.happened < items.size(); ++set.happened) {
      ItemRef item = items[set.happened];
      if (!hasHappened(item))
        return item;
      set.add(item.lane, timeline.at(item).getEnd());
    }
  }
  return std::nullopt;
}

void NeedProgress::forEachEnd(
    ItemRef workItem, llvm::function_ref<void(double, size_t)> visit) const {
  for (WorkItemDependences::Need need : needs.getNeeds(workItem)) {
    const Set &set = sets[need.items];
    visit(set.laneOfLast == workItem.lane ? set.lastElsewhere : set.last,
          needs.getItems(need.items).size());
  }
}
