//===- HappensBefore.h - Vector clocks of a schedule ------------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H
#define ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H

#include "lib/analysis/ExpandedSchedule.h"

namespace mlir::ark {

/// For every lane, how many of its items are known to have happened.
using Clock = std::vector<unsigned>;

/// Raises every entry of `clock` to that of `other`.
void joinClock(Clock &clock, const Clock &other);

/// What every lane knows when. Lanes are walked item by item, in an order in
/// which everything that an item learns of comes before it.
class HappensBefore {
public:
  explicit HappensBefore(const ExpandedSchedule &schedule);

  /// What the lane knows now.
  const Clock &getClock(unsigned lane) const {
    return steps[lane].back().clock;
  }
  /// What the lane knew, and had done, when an item had run.
  Clock getClockAfter(ItemRef item) const;
  /// The lane learns this before an item that has not run.
  void learn(ItemRef item, const Clock &clock);

  /// Whether a lane with this clock knows that an item has run.
  static bool knows(const Clock &clock, ItemRef item) {
    return clock[item.lane] > item.item;
  }
  /// What is known after all of these. Removes from them those that others of
  /// them imply.
  Clock joinAfter(SmallVectorImpl<ItemRef> &items) const;

private:
  /// The clock changes at waits alone. Its own entry is left at zero: it would
  /// change at every item.
  struct Step {
    unsigned firstItem;
    Clock clock;
  };
  const Clock &getClockAt(ItemRef item) const;

  std::vector<std::vector<Step>> steps;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_HAPPENSBEFORE_H
