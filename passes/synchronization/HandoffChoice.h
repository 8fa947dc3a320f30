//===- HandoffChoice.h - Share semaphores between waiters -------*- C++ -*-===//

#ifndef ARK_PASSES_SYNCHRONIZATION_HANDOFFCHOICE_H
#define ARK_PASSES_SYNCHRONIZATION_HANDOFFCHOICE_H

#include "passes/synchronization/SemaphorePlan.h"

namespace mlir::ark {

/// Chooses the items that the waiters of a task wait for. A waiter may wait for
/// more than it needs: a counter shared by many waiters costs fewer signals,
/// while a separate counter lets a waiter proceed earlier.
class HandoffChooser {
public:
  explicit HandoffChooser(const SynchronizationInput &input);

  /// Returns the items of a producer that a work item of `consumer` waits for
  /// to meet `need`: at most one per lane.
  ArrayRef<ItemRef> choose(unsigned consumer, WorkItemDependences::Need need);

  /// Returns the position of an item in the order of the timeline.
  unsigned getPosition(ItemRef item) const {
    return positions[item.lane][item.item];
  }

private:
  /// All work items of a consumer with the same need.
  struct Class {
    unsigned items;
    SmallVector<ItemRef> workItems;
    /// Items for which the work items wait.
    SmallVector<ItemRef> handoff;
  };

  void decide(unsigned producer, unsigned consumer);
  double getCost(ArrayRef<Class> classes) const;
  bool precede(ArrayRef<ItemRef> items, ArrayRef<ItemRef> workItems) const;
  void mergeNeighbours(MutableArrayRef<Class> classes) const;

  const SynchronizationInput &input;
  std::vector<std::vector<unsigned>> positions;
  /// All work items of every task.
  std::vector<SmallVector<ItemRef>> workItemsOf;
  /// Chosen items by producer, consumer and need.
  llvm::DenseMap<std::pair<unsigned, unsigned>,
                 llvm::DenseMap<unsigned, SmallVector<ItemRef>>>
      decisions;
};

} // namespace mlir::ark

#endif // ARK_PASSES_SYNCHRONIZATION_HANDOFFCHOICE_H
