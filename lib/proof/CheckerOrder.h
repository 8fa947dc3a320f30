//===- CheckerOrder.h - The order of vCTAs and of tasks ---------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERORDER_H
#define ARK_LIB_PROOF_CHECKERORDER_H

#include "lib/proof/CheckerExecution.h"

namespace mlir::ark::checker {

/// The item that runs a vCTA, and the number of the clock at that item.
struct Position {
  uint32_t lane = 0, item = 0, clock = 0;

  bool isInRunOf(const Position &other) const {
    return lane == other.lane && item == other.item;
  }
};

/// The order of vCTAs: whether one ends before another begins.
class VCTAOrder {
public:
  /// `items` gives the item that runs each vCTA. `execution` has run, and must
  /// outlive this object.
  VCTAOrder(ArrayRef<Item> items, const Execution &execution);

  uint32_t getNumVCTAs() const { return positions.size(); }
  const Position &getPosition(uint32_t vcta) const { return positions[vcta]; }
  bool areInOneRun(uint32_t a, uint32_t b) const {
    return positions[a].isInRunOf(positions[b]);
  }
  /// Returns true if a vCTA ends before another vCTA begins, or both are the
  /// same. The vCTAs of one run have no order: a target may execute them
  /// concurrently.
  bool isOrdered(uint32_t before, uint32_t after) const;

private:
  const Execution &execution;
  std::vector<Position> positions;
};

/// For every lane, a number of its first items.
using LanePrefixes = std::vector<uint32_t>;

/// The order of tasks: whether all vCTAs of one end before any of another
/// begins. Comparing two tasks takes a step for each lane, and not for each
/// vCTA.
class TaskOrder {
public:
  /// The arguments must outlive this object.
  TaskOrder(const ProgramAccesses &program, ArrayRef<Lane> lanes,
            const VCTAOrder &order, const Execution &execution);

  /// Returns the items that have happened for certain when any vCTA of a task
  /// begins.
  LanePrefixes getHappenedBefore(unsigned task) const;
  /// Returns true if these items include all runs of a task.
  bool includesTask(const LanePrefixes &happened, unsigned task) const;
  /// Extends prefixes by all runs of a task.
  void addTask(LanePrefixes &prefixes, unsigned task) const;
  LanePrefixes getNoItems() const { return LanePrefixes(numLanes, 0); }

private:
  /// The runs of one task on one lane.
  struct LaneRuns {
    Position first;
    uint32_t lastItem;
  };
  ArrayRef<LaneRuns> getRuns(unsigned task) const {
    return ArrayRef(runs).slice(firstRun[task],
                                firstRun[task + 1] - firstRun[task]);
  }

  const Execution &execution;
  size_t numLanes;
  /// The runs of all tasks. Those of a task begin at its `firstRun`.
  std::vector<LaneRuns> runs;
  std::vector<size_t> firstRun = {0};
};

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERORDER_H
