//===- ExpandedSchedule.h - A schedule lane by lane -------------*- C++ -*-===//

#ifndef ARK_LIB_ANALYSIS_EXPANDEDSCHEDULE_H
#define ARK_LIB_ANALYSIS_EXPANDEDSCHEDULE_H

#include "lib/analysis/Dependences.h"

namespace mlir::ark {

/// An item of a lane on one SM.
struct LaneItem {
  enum class Kind { Run, Prefetch, Signal, Wait, Barrier };

  Kind kind;
  Operation *op;
  /// Position of the task in the program, or of the semaphore in the schedule.
  unsigned index;
  /// The vCTAs of a work item or a prefetch.
  int64_t begin = 0, end = 0;

  bool isRun() const { return kind == Kind::Run; }
  /// Return true if the lane releases, or acquires, at this item.
  bool signals() const { return kind == Kind::Signal || kind == Kind::Barrier; }
  bool waits() const { return kind == Kind::Wait || kind == Kind::Barrier; }
};

/// A lane on one SM, with its items in order.
struct ExpandedLane {
  LaneOp op;
  int64_t sm;
  std::vector<LaneItem> items;
};

/// Names an item by its lane and its position.
struct ItemRef {
  unsigned lane, item;
  bool operator==(ItemRef other) const {
    return lane == other.lane && item == other.item;
  }
  bool operator<(ItemRef other) const {
    return std::tie(lane, item) < std::tie(other.lane, other.item);
  }
};

/// Sorts `items` and keeps only the last item of every lane.
void keepLastOfLane(SmallVectorImpl<ItemRef> &items);

/// A schedule with one lane for every SM. A lane op stands for several SMs,
/// with ranges that depend on the SM. Lanes come in the order of the lane ops,
/// and for each op by ascending SM.
struct ExpandedSchedule {
  /// Requires a schedule that passes verification.
  explicit ExpandedSchedule(ScheduleOp schedule);

  const LaneItem &getItem(ItemRef ref) const {
    return lanes[ref.lane].items[ref.item];
  }

  ScheduleOp op;
  std::vector<ExpandedLane> lanes;
  SmallVector<SemaphoreOp> semaphores;
  /// The number of arrivals of every semaphore.
  SmallVector<int64_t> arrivals;
};

/// For every work item of a schedule, the work items that execute the vCTAs on
/// which it depends.
class WorkItemDependences {
public:
  /// The work items of one producer that a work item needs. `items` is an index
  /// for `getItems`.
  struct Need {
    unsigned producer, items;
  };

  /// Selects all dependences, or only dependences that packets carry, or only
  /// all other dependences.
  enum class Carrier { Any, Packets, Semaphores };

  WorkItemDependences(const ExpandedSchedule &schedule,
                      const Dependences &dependences,
                      Carrier carrier = Carrier::Any);

  /// Returns the needs of a work item, by ascending producer. A work item does
  /// not need itself.
  ArrayRef<Need> getNeeds(ItemRef workItem) const {
    return needs[workItem.lane][workItem.item];
  }
  /// Returns the items of a need by ascending lane: for each lane, the last
  /// item that is needed.
  ArrayRef<ItemRef> getItems(unsigned index) const { return items[index]; }
  size_t getNumSets() const { return items.size(); }
  /// Returns the last work item of a task in every lane that executes the task.
  ArrayRef<ItemRef> getLastWorkItems(unsigned task) const {
    return lastWorkItems[task];
  }

private:
  struct WorkItem {
    int64_t begin, end;
    ItemRef item;
  };

  void collectWorkItems(const ExpandedSchedule &schedule, size_t numTasks);
  SmallVector<ItemRef> findItems(unsigned task, ArrayRef<Interval> vctas) const;
  unsigned intern(ArrayRef<ItemRef> tuple);
  void addNeeds(ItemRef workItem, const LaneItem &item,
                const Dependences &dependences);

  Carrier carrier;
  std::vector<std::vector<SmallVector<Need, 2>>> needs;
  std::vector<SmallVector<ItemRef, 0>> items;
  /// The work items of every task, by ascending vCTA.
  std::vector<std::vector<WorkItem>> workItems;
  std::vector<SmallVector<ItemRef, 0>> lastWorkItems;
  /// For every dependence and every set of its relation, the index in `items`,
  /// or -1 before the first use.
  std::vector<std::vector<int64_t>> itemsOfSet;
  TupleIndices indexOfItems;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_EXPANDEDSCHEDULE_H
