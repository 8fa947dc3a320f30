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

/// The vector clocks of all lanes over time. An item must be visited after all
/// items that its lane learns of. Lanes that have learned of the same sources
/// in the same order share one clock. For this reason a clock does not contain
/// the items of its own lane after the last `learn`.
class HappensBefore {
public:
  explicit HappensBefore(const ExpandedSchedule &schedule);

  /// Returns the index of the current clock of a lane.
  unsigned getClockIndex(unsigned lane) const {
    return steps[lane].back().clock;
  }
  /// Returns the current clock of a lane, valid until the next `learn`.
  const Clock &getClock(unsigned lane) const {
    return clocks[getClockIndex(lane)];
  }
  /// Returns the index of the clock that joins a clock and a source. `source`
  /// identifies a clock: equal sources have equal clocks.
  unsigned join(unsigned index, unsigned source);
  /// Sets the clock of the item's lane, before the item runs. `index` is a
  /// result of `join`. `getClock` returns the clock with this index, and is
  /// called only if no lane has had the clock.
  void learn(ItemRef item, unsigned index, function_ref<Clock()> getClock);

  /// Returns true if a lane with this clock knows that an item has run.
  static bool knows(const Clock &clock, ItemRef item) {
    return clock[item.lane] > item.item;
  }
  /// Returns the joined clock after all items. Removes items that happen before
  /// other items.
  Clock joinAfter(SmallVectorImpl<ItemRef> &items) const;

private:
  /// The index of a lane's clock from an item on. The index changes only at
  /// waits.
  struct Step {
    unsigned firstItem, clock;
  };
  unsigned getClockIndexAt(ItemRef item) const;

  /// Clocks that no lane has had are empty.
  std::vector<Clock> clocks;
  std::vector<std::vector<Step>> steps;
  /// The index of the clock that joins a clock and a source.
  llvm::DenseMap<std::pair<unsigned, unsigned>, unsigned> joined;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H
