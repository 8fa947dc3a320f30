//===- ExpandedSchedule.cpp - A schedule lane by lane ---------------------===//

#include "lib/analysis/ExpandedSchedule.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::ark;

//===----------------------------------------------------------------------===//
// ExpandedSchedule
//===----------------------------------------------------------------------===//

ExpandedSchedule::ExpandedSchedule(ScheduleOp schedule) : op(schedule) {
  llvm::StringMap<unsigned> taskPositions, semaphorePositions;
  for (auto task : schedule->getParentOp()->getRegion(0).getOps<TaskOp>())
    taskPositions.try_emplace(task.getName(), taskPositions.size());
  for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>()) {
    semaphorePositions.try_emplace(semaphore.getSymName(), semaphores.size());
    semaphores.push_back(semaphore);
    arrivals.push_back(semaphore.getArrivals());
  }

  using Kind = LaneItem::Kind;
  auto toItem = [&](Operation &item, int64_t sm) -> LaneItem {
    auto range = [&](AffineMap map, unsigned bound) {
      return evaluateAffine(map.getResult(bound), {sm});
    };
    auto semaphore = [&](auto sync) {
      return semaphorePositions.lookup(sync.getSemaphore());
    };
    return llvm::TypeSwitch<Operation *, LaneItem>(&item)
        .Case<RunOp, PrefetchOp>([&](auto run) {
          return LaneItem{isa<RunOp>(item) ? Kind::Run : Kind::Prefetch, &item,
                          taskPositions.lookup(run.getTask()),
                          range(run.getRange(), 0), range(run.getRange(), 1)};
        })
        .Case<SignalOp>([&](SignalOp signal) {
          return LaneItem{Kind::Signal, &item, semaphore(signal)};
        })
        .Case<BarrierOp>([&](BarrierOp barrier) {
          return LaneItem{Kind::Barrier, &item, semaphore(barrier)};
        })
        .Default([&](Operation *) {
          return LaneItem{Kind::Wait, &item, semaphore(cast<WaitOp>(item))};
        });
  };
  for (auto lane : schedule.getBody().getOps<LaneOp>())
    for (int64_t sm = lane.getSmBegin(); sm < lane.getSmEnd(); ++sm) {
      ExpandedLane &expanded = lanes.emplace_back();
      expanded.op = lane;
      expanded.sm = sm;
      for (Operation &item : lane.getBody().front())
        expanded.items.push_back(toItem(item, sm));
    }
}

//===----------------------------------------------------------------------===//
// WorkItemDependences
//===----------------------------------------------------------------------===//

WorkItemDependences::WorkItemDependences(const ExpandedSchedule &schedule,
                                         const Dependences &dependences,
                                         Carrier carrier)
    : carrier(carrier) {
  collectWorkItems(schedule, dependences.getTasks().size());
  for (const Dependence &dependence : dependences.getAll())
    itemsOfSet.emplace_back(dependence.relation->sets.size(), -1);
  needs.resize(schedule.lanes.size());
  for (unsigned lane = 0; lane < schedule.lanes.size(); ++lane) {
    ArrayRef<LaneItem> laneItems = schedule.lanes[lane].items;
    needs[lane].resize(laneItems.size());
    for (unsigned item = 0; item < laneItems.size(); ++item)
      if (laneItems[item].isRun())
        addNeeds({lane, item}, laneItems[item], dependences);
  }
}

void WorkItemDependences::collectWorkItems(const ExpandedSchedule &schedule,
                                           size_t numTasks) {
  workItems.resize(numTasks);
  lastWorkItems.resize(numTasks);
  for (unsigned lane = 0; lane < schedule.lanes.size(); ++lane)
    for (auto [position, workItem] :
         llvm::enumerate(schedule.lanes[lane].items)) {
      if (!workItem.isRun() || workItem.begin == workItem.end)
        continue;
      ItemRef ref = {lane, static_cast<unsigned>(position)};
      workItems[workItem.index].push_back({workItem.begin, workItem.end, ref});
      SmallVector<ItemRef, 0> &last = lastWorkItems[workItem.index];
      if (!last.empty() && last.back().lane == lane)
        last.back() = ref;
      else
        last.push_back(ref);
    }
  for (std::vector<WorkItem> &ofTask : workItems)
    llvm::sort(ofTask, [](const WorkItem &a, const WorkItem &b) {
      return a.begin < b.begin;
    });
}

void ark::keepLastOfLane(SmallVectorImpl<ItemRef> &items) {
  llvm::sort(items);
  size_t count = 0;
  for (ItemRef item : items) {
    if (count > 0 && items[count - 1].lane == item.lane)
      --count;
    items[count++] = item;
  }
  items.truncate(count);
}

SmallVector<ItemRef>
WorkItemDependences::findItems(unsigned task, ArrayRef<Interval> vctas) const {
  SmallVector<ItemRef> found;
  ArrayRef<WorkItem> ofTask = workItems[task];
  for (auto [begin, end] : vctas) {
    auto endsBefore = [begin = begin](const WorkItem &workItem) {
      return workItem.end <= begin;
    };
    for (auto workItem = llvm::partition_point(ofTask, endsBefore);
         workItem != ofTask.end() && workItem->begin < end; ++workItem)
      found.push_back(workItem->item);
  }
  keepLastOfLane(found);
  return found;
}

unsigned WorkItemDependences::intern(ArrayRef<ItemRef> tuple) {
  SmallVector<int64_t> key;
  for (ItemRef item : tuple)
    key.append({item.lane, item.item});
  auto [index, isNew] = indexOfItems.insert(key);
  if (isNew)
    items.emplace_back(tuple);
  return index;
}

void WorkItemDependences::addNeeds(ItemRef workItem, const LaneItem &item,
                                   const Dependences &dependences) {
  SmallVectorImpl<Need> &ofWorkItem = needs[workItem.lane][workItem.item];
  ArrayRef<Dependence> incoming = dependences.getIncoming(item.index);
  for (const Dependence &dependence : incoming) {
    if (carrier != Carrier::Any &&
        dependence.byPackets != (carrier == Carrier::Packets))
      continue;
    std::vector<int64_t> &known =
        itemsOfSet[&dependence - dependences.getAll().data()];
    // Neighbouring vCTAs mostly share a set.
    SmallVector<unsigned> sets;
    for (int64_t vcta = item.begin; vcta < item.end; ++vcta)
      if (unsigned set = dependence.relation->setOf[vcta];
          set != 0 && (sets.empty() || sets.back() != set))
        sets.push_back(set);
    llvm::sort(sets);
    sets.erase(llvm::unique(sets), sets.end());
    for (unsigned set : sets) {
      if (known[set] < 0)
        known[set] = intern(
            findItems(dependence.producer, dependence.relation->sets[set]));
      ofWorkItem.push_back(
          {dependence.producer, static_cast<unsigned>(known[set])});
    }
  }
  // Merges the needs that have the same producer.
  llvm::sort(ofWorkItem, [](Need a, Need b) {
    return std::tie(a.producer, a.items) < std::tie(b.producer, b.items);
  });
  SmallVector<Need, 2> merged;
  for (size_t i = 0; i < ofWorkItem.size();) {
    size_t first = i;
    while (i < ofWorkItem.size() &&
           ofWorkItem[i].producer == ofWorkItem[first].producer)
      ++i;
    bool isOne = ofWorkItem[i - 1].items == ofWorkItem[first].items;
    if (isOne && ofWorkItem[first].producer != item.index) {
      merged.push_back(ofWorkItem[first]);
      continue;
    }
    SmallVector<ItemRef> all;
    for (size_t k = first; k < i; ++k)
      llvm::append_range(all, items[ofWorkItem[k].items]);
    keepLastOfLane(all);
    // A work item cannot wait for itself. The proof rejects dependences between
    // the vCTAs of one work item.
    llvm::erase_if(all, [&](ItemRef other) { return other == workItem; });
    if (!all.empty())
      merged.push_back({ofWorkItem[first].producer, intern(all)});
  }
  ofWorkItem = std::move(merged);
}
