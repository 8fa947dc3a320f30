//===- CheckerOrder.h - The order of vCTAs and of tasks ---------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERORDER_H
#define ARK_LIB_PROOF_CHECKERORDER_H

#include "lib/proof/CheckerExecution.h"

namespace mlir::ark::checker {

/// The work item of a vCTA, and the index of the clock at this item.
struct Position {
  uint32_t lane = 0, item = 0, clock = 0;

  bool isInWorkItemOf(const Position &other) const {
    return lane == other.lane && item == other.item;
  }
};

/// The order of vCTAs.
class VCTAOrder {
public:
  /// `items` has the work item of each vCTA. `execution` must have run, and
  /// must outlive this object.
  VCTAOrder(ArrayRef<Item> items, const Execution &execution);

  uint32_t getNumVCTAs() const { return positions.size(); }
  const Position &getPosition(uint32_t vcta) const { return positions[vcta]; }
  bool areInOneWorkItem(uint32_t a, uint32_t b) const {
    return positions[a].isInWorkItemOf(positions[b]);
  }
  /// Returns true if vCTA `before` ends before vCTA `after` begins, or if both
  /// are the same vCTA. The vCTAs of one work item have no order: a target may
  /// execute them concurrently.
  bool isOrdered(uint32_t before, uint32_t after) const;

private:
  const Execution &execution;
  std::vector<Position> positions;
};

/// For every lane, the length of a prefix of its items.
using LanePrefixes = std::vector<uint32_t>;

/// The order of tasks: a task precedes another one if all of its vCTAs end
/// before any vCTA of the other task begins. A comparison of two tasks takes a
/// step for each lane instead of a step for each vCTA.
class TaskOrder {
public:
  /// The arguments must outlive this object.
  TaskOrder(const ProgramAccesses &program, ArrayRef<Lane> lanes,
            const VCTAOrder &order, const Execution &execution);

  /// Returns the items that have happened for certain whenever a vCTA of the
  /// task begins.
  LanePrefixes getHappenedBefore(unsigned task) const;
  /// Returns true if `happened` includes all work items of a task.
  bool includesTask(const LanePrefixes &happened, unsigned task) const;
  /// Extends prefixes by all work items of a task.
  void addTask(LanePrefixes &prefixes, unsigned task) const;
  LanePrefixes getNoItems() const { return LanePrefixes(numLanes, 0); }

private:
  /// The first and the last work item of one task on one lane.
  struct LaneWorkItems {
    Position first;
    uint32_t lastItem;
  };
  ArrayRef<LaneWorkItems> getWorkItems(unsigned task) const {
    return ArrayRef(workItems).slice(firstEntry[task],
                                     firstEntry[task + 1] - firstEntry[task]);
  }

  const Execution &execution;
  size_t numLanes;
  /// The entries of all tasks. The entries of a task begin at its `firstEntry`.
  std::vector<LaneWorkItems> workItems;
  std::vector<size_t> firstEntry = {0};
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERORDER_H
