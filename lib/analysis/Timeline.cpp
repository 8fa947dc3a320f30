//===- Timeline.cpp - Predicted times of a schedule -----------------------===//

#include "lib/analysis/Timeline.h"
#include "lib/analysis/NeedProgress.h"
#include "lib/support/PlanRank.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

using namespace mlir;
using namespace mlir::ark;

double Timeline::getMakespan() const {
  double end = 0;
  for (const std::vector<Item> &lane : lanes)
    if (!lane.empty())
      end = std::max(end, lane.back().getEnd());
  return end;
}

/// Sorts the work items by start. If a work item starts at the same time as a
/// producer, it was simulated later, so a stable sort keeps the producer first.
static void sortByStart(Timeline &timeline) {
  llvm::stable_sort(timeline.order, [&](ItemRef a, ItemRef b) {
    return timeline.at(a).start < timeline.at(b).start;
  });
}

/// Returns the number of lanes that execute each task.
static llvm::DenseMap<unsigned, int64_t>
countLanes(const ExpandedSchedule &schedule) {
  llvm::DenseMap<unsigned, int64_t> counts;
  llvm::DenseMap<unsigned, unsigned> lastLane;
  for (auto [lane, items] : llvm::enumerate(schedule.lanes))
    for (const LaneItem &item : items.items) {
      if (!item.isRun() || item.begin == item.end)
        continue;
      auto [last, isNew] = lastLane.try_emplace(item.index, lane);
      counts[item.index] += isNew || last->second != lane;
      last->second = lane;
    }
  return counts;
}

static Timeline makeTimeline(const ExpandedSchedule &schedule) {
  Timeline timeline;
  for (const ExpandedLane &lane : schedule.lanes)
    timeline.lanes.emplace_back(lane.items.size());
  return timeline;
}

//===----------------------------------------------------------------------===//
// Synchronised schedules
//===----------------------------------------------------------------------===//

namespace {
/// Simulates every lane until it has to wait. The lane continues when the
/// semaphore is complete or the packets have arrived.
class SemaphoreSimulation {
public:
  /// `packets` are null if the program has no packets.
  SemaphoreSimulation(const ExpandedSchedule &schedule,
                      const WorkItemDependences *packets,
                      const CostModel &costs)
      : schedule(schedule), costs(costs), timeline(makeTimeline(schedule)),
        semaphores(schedule.semaphores.size()), lanes(schedule.lanes.size()) {
    if (packets)
      senders.emplace(*packets, timeline);
  }

  FailureOr<Timeline> run() {
    for (unsigned lane = 0; lane < lanes.size(); ++lane)
      ready.push_back(lane);
    while (!ready.empty()) {
      unsigned lane = ready.pop_back_val();
      ArrayRef<LaneItem> items = schedule.lanes[lane].items;
      while (lanes[lane].next < items.size() && step(lane, items)) {
        ItemRef done = {lane, lanes[lane].next++};
        if (auto found = receivers.find(done); found != receivers.end())
          ready.append(found->second);
      }
    }
    for (auto [lane, state] : llvm::zip(schedule.lanes, lanes))
      if (state.next < lane.items.size())
        return lane.items[state.next].op->emitOpError(
            "never ends: lanes of the schedule wait for each other");
    sortByStart(timeline);
    return std::move(timeline);
  }

private:
  struct Semaphore {
    int64_t arrived = 0;
    double last = 0;
    SmallVector<unsigned> waiting;
  };
  struct Lane {
    unsigned next = 0;
    double now = 0;
    /// True if the lane has begun item `next` and may still wait there.
    bool entered = false;
  };

  bool step(unsigned lane, ArrayRef<LaneItem> items);
  bool receive(ItemRef workItem);
  void enter(const LaneItem &item, ItemRef ref, Timeline::Item &times);

  const ExpandedSchedule &schedule;
  const CostModel &costs;
  /// The number of lanes of each task.
  llvm::DenseMap<unsigned, int64_t> numLanes = countLanes(schedule);
  Timeline timeline;
  std::optional<NeedProgress> senders;
  std::vector<Semaphore> semaphores;
  std::vector<Lane> lanes;
  /// For an item, the lanes that wait for its packets.
  std::map<ItemRef, SmallVector<unsigned>> receivers;
  SmallVector<unsigned> ready;
};
} // namespace

/// Returns false if packets of a work item are missing. Otherwise advances the
/// lane to the time at which all of them have arrived.
bool SemaphoreSimulation::receive(ItemRef workItem) {
  if (!senders)
    return true;
  if (std::optional<ItemRef> missing =
          senders->findMissing(workItem, [&](ItemRef sender) {
            return lanes[sender.lane].next > sender.item;
          })) {
    receivers[*missing].push_back(workItem.lane);
    return false;
  }
  double &now = lanes[workItem.lane].now;
  senders->forEachEnd(workItem, [&](double end, size_t) {
    now = std::max(now, end + costs.getPacketNs());
  });
  return true;
}

void SemaphoreSimulation::enter(const LaneItem &item, ItemRef ref,
                                Timeline::Item &times) {
  times.start = lanes[ref.lane].now;
  if (item.isRun()) {
    times.duration = costs.getNsBesideOthers(item.index, item.begin, item.end,
                                             numLanes.lookup(item.index));
    timeline.order.push_back(ref);
  }
  if (!item.signals())
    return;
  if (!item.waits())
    times.duration = costs.getSignalNs();
  Semaphore &semaphore = semaphores[item.index];
  semaphore.last = std::max(semaphore.last, times.getEnd());
  int64_t arrivals = schedule.arrivals[item.index];
  if (++semaphore.arrived == arrivals) {
    ready.append(semaphore.waiting);
    semaphore.waiting.clear();
  }
}

/// Simulates the next item of a lane. Returns false if the lane has to wait.
bool SemaphoreSimulation::step(unsigned lane, ArrayRef<LaneItem> items) {
  Lane &state = lanes[lane];
  const LaneItem &item = items[state.next];
  Timeline::Item &times = timeline.lanes[lane][state.next];
  if (item.isRun() && !receive({lane, state.next}))
    return false;
  if (!state.entered)
    enter(item, {lane, state.next}, times);
  state.entered = true;
  if (item.waits()) {
    Semaphore &semaphore = semaphores[item.index];
    int64_t arrivals = schedule.arrivals[item.index];
    if (semaphore.arrived < arrivals) {
      semaphore.waiting.push_back(lane);
      return false;
    }
    double handoff =
        item.signals() ? costs.getBarrierNs() : costs.getHandoffNs(arrivals);
    times.duration = std::max(0.0, semaphore.last + handoff - times.start);
  }
  state.now = times.getEnd();
  state.entered = false;
  return true;
}

FailureOr<Timeline> mlir::ark::computeTimeline(ScheduleOp schedule) {
  auto program = cast<ProgramOp>(schedule->getParentOp());
  // The times omit links, since `ark simulate` adds the time of links to the
  // times in a bundle.
  CostModel costs(program, schedule.getSms(), CostModel::LinkTimes::Exclude);
  ExpandedSchedule expanded(schedule);
  if (program.getBody().getOps<PacketsOp>().empty())
    return SemaphoreSimulation(expanded, nullptr, costs).run();
  FailureOr<Dependences> dependences = Dependences::compute(program);
  if (failed(dependences))
    return failure();
  WorkItemDependences packets(expanded, *dependences,
                              WorkItemDependences::Carrier::Packets);
  return SemaphoreSimulation(expanded, &packets, costs).run();
}

//===----------------------------------------------------------------------===//
// Schedules before synchronisation
//===----------------------------------------------------------------------===//

namespace {
/// The links of every rank to other ranks. Work items store to other ranks
/// while they compute, in the order in which they begin.
class LinkQueues {
public:
  LinkQueues(const Dependences &dependences, const CostModel &costs,
             LinkOrder order)
      : costs(costs), isQueue(order == LinkOrder::Queue) {
    for (TaskOp task : dependences.getTasks())
      rankOf.push_back(getRank(task));
  }

  /// Returns true if messages follow each other.
  bool areQueues() const { return isQueue; }

  /// Returns the time of a work item that begins at `start` and that `sms` SMs
  /// execute.
  double run(const LaneItem &item, int64_t sms, double start) {
    double bytes = costs.getRemoteBytes(item.index, item.begin, item.end);
    if (!isQueue)
      return costs.getWorkItemNs(item.index, item.begin, item.end, sms);
    double ns = costs.getNsBesideOthers(item.index, item.begin, item.end, sms,
                                        CostModel::LinkTimes::Exclude);
    if (bytes == 0)
      return ns;
    LinksAttr links = costs.getLinks();
    double &free = freeAt[rankOf[item.index]];
    free = std::max(free, start) + bytes / links.getBandwidth();
    return std::max({ns, bytes / links.getSmBandwidth(), free - start});
  }

private:
  const CostModel &costs;
  bool isQueue;
  std::vector<int64_t> rankOf;
  /// For each rank, the time at which its links have sent all messages.
  llvm::DenseMap<int64_t, double> freeAt;
};

/// Simulates every lane until it needs a work item that has not happened.
class DependenceSimulation {
public:
  DependenceSimulation(const ExpandedSchedule &schedule,
                       const Dependences &dependences,
                       const WorkItemDependences &workItemDependences,
                       const CostModel &costs, LinkOrder linkOrder)
      : schedule(schedule), dependences(dependences), costs(costs),
        timeline(makeTimeline(schedule)), needs(workItemDependences, timeline),
        next(schedule.lanes.size()), now(schedule.lanes.size()),
        links(dependences, costs, linkOrder) {
    for (const ExpandedLane &lane : schedule.lanes)
      waiting.emplace_back(lane.items.size());
  }

  FailureOr<Timeline> run();

private:
  std::optional<ItemRef> findMissing(ItemRef workItem);
  bool step(unsigned lane);
  void pushReady(unsigned lane);
  unsigned popReady();
  LogicalResult reportCycle(unsigned lane);

  const ExpandedSchedule &schedule;
  const Dependences &dependences;
  const CostModel &costs;
  /// The number of lanes of each task.
  llvm::DenseMap<unsigned, int64_t> numLanes = countLanes(schedule);
  Timeline timeline;
  NeedProgress needs;
  std::vector<unsigned> next;
  std::vector<double> now;
  LinkQueues links;
  /// For every item, the lanes that wait for it.
  std::vector<std::vector<SmallVector<unsigned, 1>>> waiting;
  /// Lanes that may continue, and when: a stack, or a heap whose top is the
  /// earliest lane if the order of lanes matters for links.
  using Entry = std::pair<double, unsigned>;
  SmallVector<Entry> ready;
};
} // namespace

/// Returns an item that a work item needs and that has not happened.
std::optional<ItemRef> DependenceSimulation::findMissing(ItemRef workItem) {
  return needs.findMissing(
      workItem, [&](ItemRef item) { return next[item.lane] > item.item; });
}

/// Simulates the next item of a lane. Returns false if the lane has to wait.
bool DependenceSimulation::step(unsigned lane) {
  ItemRef ref = {lane, next[lane]};
  const LaneItem &item = schedule.getItem(ref);
  Timeline::Item &times = timeline.lanes[lane][next[lane]];
  if (std::optional<ItemRef> missing = findMissing(ref)) {
    waiting[missing->lane][missing->item].push_back(lane);
    return false;
  }
  times.start = now[lane];
  needs.forEachEnd(ref, [&](double end, size_t items) {
    times.start = std::max(times.start, end + costs.getHandoffNs(items));
  });
  // Work items that begin earlier use the links earlier.
  if (links.areQueues() && times.start > now[lane]) {
    now[lane] = times.start;
    pushReady(lane);
    return false;
  }
  if (item.isRun()) {
    times.duration = links.run(item, numLanes.lookup(item.index), times.start);
    timeline.order.push_back(ref);
  }
  now[lane] = times.getEnd();
  return true;
}

void DependenceSimulation::pushReady(unsigned lane) {
  ready.push_back({now[lane], lane});
  if (links.areQueues())
    std::push_heap(ready.begin(), ready.end(), std::greater<Entry>());
}

unsigned DependenceSimulation::popReady() {
  if (links.areQueues())
    std::pop_heap(ready.begin(), ready.end(), std::greater<Entry>());
  return ready.pop_back_val().second;
}

FailureOr<Timeline> DependenceSimulation::run() {
  for (unsigned lane = 0; lane < next.size(); ++lane)
    pushReady(lane);
  while (!ready.empty()) {
    unsigned lane = popReady();
    size_t count = schedule.lanes[lane].items.size();
    while (next[lane] < count && step(lane)) {
      for (unsigned waiter : waiting[lane][next[lane]])
        pushReady(waiter);
      ++next[lane];
      // Another lane may use the links before the next item.
      if (links.areQueues()) {
        pushReady(lane);
        break;
      }
    }
  }
  for (unsigned lane = 0; lane < next.size(); ++lane)
    if (next[lane] < schedule.lanes[lane].items.size())
      return reportCycle(lane);
  sortByStart(timeline);
  return std::move(timeline);
}

/// Reports a cycle: follows the missing items from lane to lane until a lane
/// repeats.
LogicalResult DependenceSimulation::reportCycle(unsigned lane) {
  SmallVector<unsigned> path;
  while (!llvm::is_contained(path, lane)) {
    path.push_back(lane);
    lane = findMissing({lane, next[lane]})->lane;
  }
  path.erase(path.begin(), llvm::find(path, lane));
  auto describe = [&](ItemRef ref) {
    const LaneItem &item = schedule.getItem(ref);
    return ("'" + dependences.getTask(item.index).getName() + "' [" +
            Twine(item.begin) + ", " + Twine(item.end) + ") on SM " +
            Twine(schedule.lanes[ref.lane].sm))
        .str();
  };
  ItemRef first = {lane, next[lane]};
  InFlightDiagnostic diagnostic = schedule.getItem(first).op->emitOpError(
      "can never run: the order of the lanes contradicts the dependences");
  for (unsigned member : path) {
    ItemRef blocked = {member, next[member]};
    ItemRef missing = *findMissing(blocked);
    diagnostic.attachNote(schedule.getItem(blocked).op->getLoc())
        << describe(blocked) << " needs " << describe(missing);
  }
  return diagnostic;
}

FailureOr<Timeline> mlir::ark::computeUnsynchronizedTimeline(
    const ExpandedSchedule &schedule, const Dependences &dependences,
    const WorkItemDependences &workItemDependences, const CostModel &costs,
    LinkOrder linkOrder) {
  return DependenceSimulation(schedule, dependences, workItemDependences, costs,
                              linkOrder)
      .run();
}
