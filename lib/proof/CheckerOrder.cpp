//===- CheckerOrder.cpp - The order of vCTAs and of tasks -----------------===//

#include "lib/proof/CheckerOrder.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

//===----------------------------------------------------------------------===//
// VCTAOrder
//===----------------------------------------------------------------------===//

VCTAOrder::VCTAOrder(ArrayRef<Item> items, const Execution &execution)
    : execution(execution) {
  positions.reserve(items.size());
  for (Item item : items) {
    bool isSame = !positions.empty() && positions.back().lane == item.lane &&
                  positions.back().item == item.item;
    uint32_t clock = isSame ? positions.back().clock
                            : execution.getClockIndex(item.lane, item.item);
    positions.push_back({item.lane, item.item, clock});
  }
}

bool VCTAOrder::isOrdered(uint32_t before, uint32_t after) const {
  const Position &a = positions[before], &b = positions[after];
  if (a.lane != b.lane)
    return execution.knows(b.clock, a.lane, a.item);
  return a.item != b.item ? a.item < b.item : before == after;
}

//===----------------------------------------------------------------------===//
// TaskOrder
//===----------------------------------------------------------------------===//

TaskOrder::TaskOrder(const ProgramAccesses &program, ArrayRef<Lane> lanes,
                     const VCTAOrder &order, const Execution &execution)
    : execution(execution), numLanes(lanes.size()) {
  // For every lane, the index of its entry in `workItems`, if the task has one
  // there.
  std::vector<size_t> entryOfLane(numLanes, 0);
  for (unsigned task = 0; task < program.getTasks().size(); ++task) {
    size_t begin = workItems.size();
    for (uint32_t vcta = program.getFirstVCTA(task);
         vcta < program.getFirstVCTA(task + 1); ++vcta) {
      const Position &position = order.getPosition(vcta);
      size_t &entry = entryOfLane[position.lane];
      bool isNew = entry < begin || entry >= workItems.size() ||
                   workItems[entry].first.lane != position.lane;
      if (isNew) {
        entry = workItems.size();
        workItems.push_back({position, position.item});
        continue;
      }
      if (position.item < workItems[entry].first.item)
        workItems[entry].first = position;
      workItems[entry].lastItem =
          std::max(workItems[entry].lastItem, position.item);
    }
    firstEntry.push_back(workItems.size());
  }
}

LanePrefixes TaskOrder::getHappenedBefore(unsigned task) const {
  LanePrefixes happened(numLanes, std::numeric_limits<uint32_t>::max());
  // Most lanes of a rank share a clock, whose entries are visited once.
  llvm::DenseMap<uint32_t, unsigned> lanesWithClock;
  for (const LaneWorkItems &ofLane : getWorkItems(task))
    ++lanesWithClock[ofLane.first.clock];
  // A lane executes the task in one or more work items. The clocks of a lane
  // grow, so the clock of its first work item stands for all of them.
  // The clock's entry for its own lane counts only what other lanes know, so
  // the position of the work item replaces this entry.
  for (const LaneWorkItems &ofLane : getWorkItems(task)) {
    uint32_t own = ofLane.first.lane;
    uint32_t before = std::min(happened[own], ofLane.first.item);
    unsigned &count = lanesWithClock[ofLane.first.clock];
    if (count > 0)
      execution.getClock(ofLane.first.clock)
          .lower(happened, count > 1 ? ~0u : own);
    // The other lanes with this clock have the same entries.
    count = 0;
    happened[own] = std::min(happened[own], before);
  }
  return happened;
}

bool TaskOrder::includesTask(const LanePrefixes &happened,
                             unsigned task) const {
  return llvm::all_of(getWorkItems(task), [&](const LaneWorkItems &ofLane) {
    return happened[ofLane.first.lane] > ofLane.lastItem;
  });
}

void TaskOrder::addTask(LanePrefixes &prefixes, unsigned task) const {
  for (const LaneWorkItems &ofLane : getWorkItems(task))
    prefixes[ofLane.first.lane] =
        std::max(prefixes[ofLane.first.lane], ofLane.lastItem + 1);
}
