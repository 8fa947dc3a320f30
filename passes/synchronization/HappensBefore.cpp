//===- HappensBefore.cpp - Vector clocks of a schedule --------------------===//

#include "passes/synchronization/HappensBefore.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

void mlir::ark::joinClock(Clock &clock, const Clock &other) {
  for (size_t lane = 0; lane < clock.size(); ++lane)
    clock[lane] = std::max(clock[lane], other[lane]);
}

HappensBefore::HappensBefore(const ExpandedSchedule &schedule) {
  size_t lanes = schedule.lanes.size();
  steps.assign(lanes, {{0, Clock(lanes, 0)}});
}

const Clock &HappensBefore::getClockAt(ItemRef item) const {
  ArrayRef<Step> ofLane = steps[item.lane];
  auto step = llvm::partition_point(
      ofLane, [&](const Step &step) { return step.firstItem <= item.item; });
  return std::prev(step)->clock;
}

Clock HappensBefore::getClockAfter(ItemRef item) const {
  Clock clock = getClockAt(item);
  clock[item.lane] = item.item + 1;
  return clock;
}

void HappensBefore::learn(ItemRef item, const Clock &clock) {
  std::vector<Step> &ofLane = steps[item.lane];
  if (ofLane.back().firstItem != item.item)
    ofLane.push_back({item.item, ofLane.back().clock});
  joinClock(ofLane.back().clock, clock);
  ofLane.back().clock[item.lane] = 0;
}

Clock HappensBefore::joinAfter(SmallVectorImpl<ItemRef> &items) const {
  Clock clock(steps.size(), 0);
  // The clock at an item is zero in the item's own lane, so an entry that
  // covers an item comes from the other items.
  for (ItemRef item : items)
    joinClock(clock, getClockAt(item));
  llvm::erase_if(items, [&](ItemRef item) { return knows(clock, item); });
  for (ItemRef item : items)
    clock[item.lane] = std::max(clock[item.lane], item.item + 1);
  return clock;
}
