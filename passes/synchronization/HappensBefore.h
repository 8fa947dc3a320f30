//===- HappensBefore.h - Vector clocks of a schedule ------------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H
#define ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H

#include "lib/analysis/ExpandedSchedule.h"

#include "llvm/ADT/DenseMap.h"

namespace mlir::ark {

/// For every lane, the number of its items that are known to have happened.
using Clock = std::vector<unsigned>;

/// Sets every entry of `clock` to the maximum with the entry of `other`.
void joinClock(Clock &clock, const Clock &other);

/// The vector clocks of all lanes over time. An item is visited after all items
/// that its lane learns of. Lanes that have learned of the same sources in the
/// same order share one clock, so a clock says nothing of its lane's own items
/// since.
class HappensBefore {
public:
  explicit HappensBefore(const ExpandedSchedule &schedule);

  /// Returns the number of the current clock of a lane.
  unsigned getClockNumber(unsigned lane) const {
    return steps[lane].back().clock;
  }
  /// Returns the current clock of a lane, valid until the next `learn`.
  const Clock &getClock(unsigned lane) const {
    return clocks[getClockNumber(lane)];
  }
  /// Joins a clock into the clock of the item's lane. The item has not run yet.
  /// `source` is a number of `clock`, which never changes.
  void learn(ItemRef item, unsigned source, const Clock &clock);

  /// Returns true if a lane with this clock knows that an item has run.
  static bool knows(const Clock &clock, ItemRef item) {
    return clock[item.lane] > item.item;
  }
  /// Returns the joined clock after all items, and removes the items that
  /// others imply.
  Clock joinAfter(SmallVectorImpl<ItemRef> &items) const;

private:
  /// The number of a lane's clock from an item on. It changes only at waits.
  struct Step {
    unsigned firstItem, clock;
  };
  unsigned getClockNumberAt(ItemRef item) const;

  std::vector<Clock> clocks;
  std::vector<std::vector<Step>> steps;
  /// The number of the clock that joins a clock and a source.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> joined;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H
