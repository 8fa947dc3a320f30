//===- HappensBefore.h - Vector clocks of a schedule ------------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H
#define ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H

#include "lib/analysis/ExpandedSchedule.h"

namespace mlir::ark {

/// For every lane, the number of its items that are known to have happened.
using Clock = std::vector<unsigned>;

/// Sets every entry of `clock` to the maximum with the entry of `other`.
void joinClock(Clock &clock, const Clock &other);

/// The vector clocks of all lanes over time. An item is visited after all items
/// that its lane learns of.
class HappensBefore {
public:
  explicit HappensBefore(const ExpandedSchedule &schedule);

  /// Returns the current clock of a lane.
  const Clock &getClock(unsigned lane) const {
    return steps[lane].back().clock;
  }
  /// Returns the clock of the lane right after an item, including the item.
  Clock getClockAfter(ItemRef item) const;
  /// Joins a clock into the clock of the item's lane. The item has not run yet.
  void learn(ItemRef item, const Clock &clock);

  /// Returns true if a lane with this clock knows that an item has run.
  static bool knows(const Clock &clock, ItemRef item) {
    return clock[item.lane] > item.item;
  }
  /// Returns the joined clock after all items, and removes the items that
  /// others imply.
  Clock joinAfter(SmallVectorImpl<ItemRef> &items) const;

private:
  /// The clock of a lane from an item on. It changes only at waits: the lane's
  /// own entry, which would change at every item, stays zero.
  struct Step {
    unsigned firstItem;
    Clock clock;
  };
  const Clock &getClockAt(ItemRef item) const;

  std::vector<std::vector<Step>> steps;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H
