//===- HappensBefore.cpp - Vector clocks of a schedule --------------------===//

#include "passes/synchronization/HappensBefore.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

void mlir::ark::joinClock(Clock &clock, const Clock &other) {
  for (size_t lane = 0; lane < clock.size(); ++lane)
    clock[lane] = std::max(clock[lane], other[lane]);
}

HappensBefore::HappensBefore(const ExpandedSchedule &schedule) {
  size_t lanes = schedule.lanes.size();
  clocks.emplace_back(lanes, 0);
  steps.assign(lanes, {{0, 0}});
}

unsigned HappensBefore::getClockIndexAt(ItemRef item) const {
  ArrayRef<Step> ofLane = steps[item.lane];
  auto step = llvm::partition_point(
      ofLane, [&](const Step &step) { return step.firstItem <= item.item; });
  return std::prev(step)->clock;
}

unsigned HappensBefore::join(unsigned index, unsigned source) {
  auto [entry, isNew] = joined.try_emplace({index, source}, clocks.size());
  if (isNew)
    clocks.emplace_back();
  return entry->second;
}

void HappensBefore::learn(ItemRef item, unsigned index,
                          function_ref<Clock()> getClock) {
  if (clocks[index].empty())
    clocks[index] = getClock();
  steps[item.lane].push_back({item.item, index});
}

Clock HappensBefore::joinAfter(SmallVectorImpl<ItemRef> &items) const {
  Clock clock(steps.size(), 0);
  llvm::SmallDenseSet<unsigned> joinedClocks;
  for (ItemRef item : items)
    if (unsigned index = getClockIndexAt(item);
        joinedClocks.insert(index).second)
      joinClock(clock, clocks[index]);
  // The clock at an item does not cover the item itself, so a clock that covers
  // it comes from another item.
  llvm::erase_if(items, [&](ItemRef item) { return knows(clock, item); });
  for (ItemRef item : items)
    clock[item.lane] = std::max(clock[item.lane], item.item + 1);
  return clock;
}
