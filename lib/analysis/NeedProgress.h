//===- NeedProgress.h - Items that work items still need --------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_NEEDPROGRESS_H
#define ARK_LIB_ANALYSIS_NEEDPROGRESS_H

#include "lib/analysis/Timeline.h"

namespace mlir::ark {

/// The progress of a simulation with regard to the sets of items that work
/// items need. Many work items share a set, so each item of a set is visited
/// once for all these work items.
class NeedProgress {
public:
  /// `needs` and `timeline` must outlive this object. `timeline` has the times
  /// of all items that have happened.
  NeedProgress(const WorkItemDependences &needs, const Timeline &timeline)
      : needs(needs), timeline(timeline), sets(needs.getNumSets()) {}

  /// Returns an item that a work item needs and that has not happened according
  /// to `hasHappened`.
  std::optional<ItemRef>
  findMissing(ItemRef workItem, llvm::function_ref<bool(ItemRef)> hasHappened);
  /// Calls `visit(end, count)` for each need of a work item. `end` is the end
  /// of the last item on another lane, or minus infinity without such an item,
  /// and `count` is the number of items. Requires that no item is missing.
  void forEachEnd(ItemRef workItem,
                  llvm::function_ref<void(double, size_t)> visit) const;

private:
  /// The items of a set that are known to have happened.
  struct Set {
    size_t happened = 0;
    double last = -std::numeric_limits<double>::infinity();
    unsigned laneOfLast = ~0u;
    /// The last end on a lane other than `laneOfLast`.
    double lastElsewhere = -std::numeric_limits<double>::infinity();

    void add(unsigned lane, double end);
  };

  const WorkItemDependences &needs;
  const Timeline &timeline;
  std::vector<Set> sets;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_NEEDPROGRESS_H
