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
  /// Position of the task, or of the semaphore in its schedule.
  unsigned index;
  /// vCTAs of a run or a prefetch.
  int64_t begin = 0, end = 0;

  bool isRun() const { return kind == Kind::Run; }
  /// Whether the lane releases, or acquires, at this item.
  bool signals() const { return kind == Kind::Signal || kind == Kind::Barrier; }
  bool waits() const { return kind == Kind::Wait || kind == Kind::Barrier; }
};

/// What one range of warps of one SM does.
struct ExpandedLane {
  LaneOp op;
  int64_t sm;
  std::vector<LaneItem> items;
};

/// An item of some lane.
struct ItemRef {
  unsigned lane, item;
  bool operator==(ItemRef other) const {
    return lane == other.lane && item == other.item;
  }
  bool operator<(ItemRef other) const {
    return std::tie(lane, item) < std::tie(other.lane, other.item);
  }
};

/// Sorts and keeps the last item of every lane.
void keepLastOfLane(SmallVectorImpl<ItemRef> &items);

/// Lane ops stand for several SMs, with ranges that depend on the SM; here is
/// one lane for every SM, in the order of the ops and then of the SMs.
struct ExpandedSchedule {
  /// The schedule must verify.
  explicit ExpandedSchedule(ScheduleOp schedule);

  const LaneItem &getItem(ItemRef ref) const {
    return lanes[ref.lane].items[ref.item];
  }

  ScheduleOp op;
  std::vector<ExpandedLane> lanes;
  SmallVector<SemaphoreOp> semaphores;
  /// Of every semaphore.
  SmallVector<int64_t> arrivals;
};

/// The items that run what a run of the schedule depends on.
class RunDependences {
public:
  /// What a run needs of one producer: an entry of `getItems`.
  struct Need {
    unsigned producer, items;
  };

  /// All dependences, or those that packets carry, or the others.
  enum class Carrier { Any, Packets, Semaphores };

  RunDependences(const ExpandedSchedule &schedule,
                 const Dependences &dependences,
                 Carrier carrier = Carrier::Any);

  /// Needs of a run, by ascending producer.
  ArrayRef<Need> getNeeds(ItemRef run) const {
    return needs[run.lane][run.item];
  }
  /// One item a lane, the last one needed of it; by ascending lane.
  ArrayRef<ItemRef> getItems(unsigned index) const { return items[index]; }
  /// The last run of a task in every lane that runs it.
  ArrayRef<ItemRef> getLastRuns(unsigned task) const { return lastRuns[task]; }

private:
  struct Run {
    int64_t begin, end;
    ItemRef item;
  };

  void collectRuns(const ExpandedSchedule &schedule, size_t numTasks);
  SmallVector<ItemRef> findItems(unsigned task, ArrayRef<Interval> vctas) const;
  unsigned intern(ArrayRef<ItemRef> tuple);
  void addNeeds(ItemRef run, const LaneItem &item,
                const Dependences &dependences);

  Carrier carrier;
  std::vector<std::vector<SmallVector<Need, 2>>> needs;
  std::vector<SmallVector<ItemRef, 0>> items;
  /// By ascending vCTA.
  std::vector<std::vector<Run>> runs;
  std::vector<SmallVector<ItemRef, 0>> lastRuns;
  /// For every dependence and set of its relation its number in `items`, or -1
  /// until it is asked for.
  std::vector<std::vector<int64_t>> itemsOfSet;
  TupleNumbering numbering;
};

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_EXPANDEDSCHEDULE_H
