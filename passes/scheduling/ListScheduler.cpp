//===- ListScheduler.cpp - List scheduling by the critical path -----------===//
//
// A list scheduler: the task with the longest path to the end of the program
// comes first. The scheduler tries several placements of each task: on all
// lanes, on fewer lanes, or in the lanes that produced its inputs. It selects
// the placement that allows the consumers of the task to begin earliest. Tasks
// off the critical path fill the gaps in which lanes wait for tasks on the
// path. In a pipeline, the unit of a task comes before its path.
//
//===----------------------------------------------------------------------===//

#include "passes/scheduling/L2Map.h"
#include "passes/scheduling/LaneTimes.h"
#include "passes/scheduling/LaneUnits.h"
#include "passes/scheduling/PlacementOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <queue>

using namespace mlir;
using namespace mlir::ark;

/// Maximum number of work items of one task in one lane.
static constexpr unsigned kMaxWorkItems = 3;

namespace {
class ListScheduler : public Scheduler {
public:
  StringRef getName() const override { return "list"; }
  ScheduledLanes schedule(const SchedulerInput &input) const override;
};

/// A candidate work item: vCTAs [begin, end) in a lane, with their times.
struct CandidateWorkItem {
  unsigned lane;
  int64_t begin, end;
  double startTime, endTime;
};

/// An idle interval of a lane, and the number of vCTAs placed there.
struct Stretch {
  unsigned lane;
  double start;
  int64_t capacity, count = 0;
};

/// A candidate placement of a task.
struct Candidate {
  SmallVector<CandidateWorkItem> workItems;
  /// Time at which consumers in other lanes could begin.
  double cost = std::numeric_limits<double>::infinity();
};

class TaskPlacer {
public:
  explicit TaskPlacer(const SchedulerInput &input)
      : input(input),
        times(input.target.getSms() * input.placement.smLanes.size(),
              input.dependences.getTasks().size()),
        units(times.getNumLanes()), l2s(input) {}

  ScheduledLanes run();

private:
  void place(unsigned task);
  void collectEnds(unsigned task);
  double getWorkItemNs(unsigned task, int64_t begin, int64_t end,
                       int64_t lanes) const;
  Candidate spread(unsigned task, ArrayRef<unsigned> lanes) const;
  SmallVector<Stretch> collectStretches(unsigned task, ArrayRef<unsigned> lanes,
                                        double vctaNs) const;
  void fillStretches(MutableArrayRef<Stretch> stretches, int64_t share,
                     double vctaNs) const;
  void divideEvenly(unsigned task, MutableArrayRef<Stretch> stretches) const;
  Candidate follow(unsigned task, ArrayRef<unsigned> home) const;
  Candidate chooseCandidate(unsigned task) const;
  SmallVector<unsigned> getLanes(const Placement::Pin &pin, Interval sms) const;
  unsigned getLastProducer() const;
  SmallVector<unsigned> getPreferredLanes() const;
  void setTimes(unsigned task, Candidate &candidate) const;
  double getReady(Interval vctas, unsigned lane) const;
  std::vector<double> getReadyTimes() const;
  void findReadyBounds();

  const SchedulerInput &input;
  LaneTimes times;
  LaneUnits units;
  L2Map l2s;

  // State of the task that is being placed:
  SmallVector<unsigned> allLanes;
  double vctaNs = 0;
  bool streamsWeights = false;
  /// Ends of the producers: for every dependence on another task, one entry for
  /// each set of producing vCTAs in the relation of this dependence.
  std::vector<std::pair<const Relation *, std::vector<ProducerEnds>>> ends;
  int64_t numVCTAs = 0;
  /// Entries for the producers of which each vCTA reads the data of a single
  /// lane: this lane, by vCTA. `tiedHomes` has the entries of the producers in
  /// whose lanes the plan places the task.
  std::vector<std::vector<unsigned>> homes, tiedHomes;
  bool dependsOnItself = false;
  double earliest = 0, latest = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

void TaskPlacer::collectEnds(unsigned task) {
  numVCTAs = input.dependences.getTask(task).getNumVCTAs();
  ends.clear();
  homes.clear();
  tiedHomes.clear();
  dependsOnItself = false;
  for (const Dependence &dependence : input.dependences.getIncoming(task)) {
    if (dependence.producer == task) {
      dependsOnItself = true;
      continue;
    }
    auto &[relation, ofSets] = ends.emplace_back();
    relation = dependence.relation.get();
    for (const Relation::VCTAs &set : relation->sets) {
      ofSets.push_back(times.getEnds(dependence.producer, set));
      ofSets.back().handoff = input.costs.getHandoffNs(ofSets.back().lanes);
    }
    if (dependence.hazard != Hazard::RAW)
      continue;
    std::vector<unsigned> home;
    for (uint32_t set : relation->setOf)
      if (ofSets[set].lanes == 1)
        home.push_back(ofSets[set].lastLane);
    if (int64_t(home.size()) != numVCTAs)
      continue;
    if (input.placement.wantsNoSync(dependence.producer, task))
      tiedHomes.push_back(home);
    // A single lane for all vCTAs is one of the other candidates.
    if (!llvm::all_equal(home))
      homes.push_back(std::move(home));
  }
}

/// Returns the time when the inputs of some vCTAs have reached a lane.
double TaskPlacer::getReady(Interval vctas, unsigned lane) const {
  double ready = 0;
  for (auto &[relation, ofSets] : ends) {
    uint32_t previous = 0;
    for (int64_t vcta = vctas.first; vcta < vctas.second; ++vcta) {
      uint32_t set = relation->setOf[vcta];
      if (set != previous)
        ready = std::max(ready, ofSets[set].getReady(lane));
      previous = set;
    }
  }
  return ready;
}

/// Returns the time when all inputs have reached a lane, for every lane.
std::vector<double> TaskPlacer::getReadyTimes() const {
  // For most lanes, all inputs come from other lanes. The latest two inputs
  // from different lanes hence determine the times of all lanes.
  std::vector<double> ready(times.getNumLanes());
  double first = 0, second = 0;
  unsigned firstLane = ProducerEnds::kNoLane;
  for (auto &[relation, ofSets] : ends)
    for (const ProducerEnds &producers : ofSets) {
      if (producers.lanes == 0)
        continue;
      double &there = ready[producers.lastLane];
      there = std::max(there, producers.getReadyThere());
      double elsewhere = producers.getReadyElsewhere();
      if (producers.lastLane == firstLane) {
        first = std::max(first, elsewhere);
      } else if (elsewhere > first) {
        second = first;
        first = elsewhere;
        firstLane = producers.lastLane;
      } else {
        second = std::max(second, elsewhere);
      }
    }
  for (auto [lane, time] : llvm::enumerate(ready))
    time = std::max(time, lane == firstLane ? second : first);
  return ready;
}

/// Finds the time when the first vCTA can run in some lane, and the time when
/// all vCTAs can run in any lane.
void TaskPlacer::findReadyBounds() {
  earliest = latest = 0;
  for (auto &[relation, ofSets] : ends) {
    double first = std::numeric_limits<double>::infinity();
    for (uint32_t set : relation->setOf)
      first = std::min(first, ofSets[set].getReadyThere());
    earliest = std::max(earliest, first);
    for (const ProducerEnds &producers : ofSets)
      latest = std::max(latest, producers.getReadyElsewhere());
  }
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Returns the time of a work item if `lanes` lanes share the task. Only on
/// preferred SMs, beside computations, is a task expected to have the bandwidth
/// that other SMs leave.
double TaskPlacer::getWorkItemNs(unsigned task, int64_t begin, int64_t end,
                                 int64_t lanes) const {
  return input.placement.pins[task].hasPreference()
             ? input.costs.getNsBesideOthers(task, begin, end, lanes)
             : input.costs.getWorkItemNs(task, begin, end);
}

/// Sets start and end of every work item, and the cost of the candidate. The
/// start of a work item is initially the earliest start that its lane permits.
void TaskPlacer::setTimes(unsigned task, Candidate &candidate) const {
  SmallVector<unsigned> used;
  for (const CandidateWorkItem &workItem : candidate.workItems)
    used.push_back(workItem.lane);
  llvm::sort(used);
  used.erase(llvm::unique(used), used.end());
  double last = 0;
  for (CandidateWorkItem &workItem : candidate.workItems) {
    workItem.startTime =
        std::max(workItem.startTime,
                 getReady({workItem.begin, workItem.end}, workItem.lane));
    workItem.endTime =
        workItem.startTime +
        getWorkItemNs(task, workItem.begin, workItem.end, used.size());
    last = std::max(last, workItem.endTime);
  }
  // Consumers wait for all of these lanes, unless there is one lane, in which
  // the consumers can stay.
  candidate.cost =
      last + (used.size() > 1 ? input.costs.getHandoffNs(used.size()) : 0);
}

/// Returns idle intervals of some lanes, in the order of lanes and times.
SmallVector<Stretch> TaskPlacer::collectStretches(unsigned task,
                                                  ArrayRef<unsigned> lanes,
                                                  double vctaNs) const {
  // Smaller work items would cost more synchronisation than they save.
  int64_t smallest =
      std::max<int64_t>(1, numVCTAs / int64_t(lanes.size() * kMaxWorkItems));
  SmallVector<Stretch> stretches;
  for (unsigned lane : lanes) {
    unsigned workItems = 0;
    double from =
        std::max(earliest, units.getStart(lane, input.placement.pins[task]));
    for (LaneTimes::Gap gap : times.getGaps(lane, from)) {
      if (std::isinf(gap.end)) {
        stretches.push_back({lane, std::max(gap.begin, from), numVCTAs});
        continue;
      }
      // Work items after the gap are already placed, so only vCTAs that are
      // certainly ready may fill the gap.
      double start = std::max({gap.begin, latest, from});
      double fitting = vctaNs > 0 ? (gap.end - start) / vctaNs : 0;
      if (fitting < smallest || ++workItems >= kMaxWorkItems)
        continue;
      stretches.push_back({lane, start, static_cast<int64_t>(fitting)});
    }
  }
  return stretches;
}

/// Assigns each vCTA in turn to the lane in which it ends earliest. The lane
/// with the smallest load wins ties.
void TaskPlacer::fillStretches(MutableArrayRef<Stretch> stretches,
                               int64_t share, double vctaNs) const {
  std::vector<int64_t> left(times.getNumLanes(), share);
  using Entry = std::tuple<double, double, unsigned>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
  auto push = [&](unsigned index) {
    const Stretch &stretch = stretches[index];
    if (stretch.count < stretch.capacity)
      queue.push({stretch.start + (stretch.count + 1) * vctaNs,
                  times.getLoad(stretch.lane), index});
  };
  for (unsigned index = 0; index < stretches.size(); ++index)
    push(index);
  for (int64_t placed = 0; placed < numVCTAs;) {
    unsigned index = std::get<unsigned>(queue.top());
    queue.pop();
    // The lane already has its share, from this interval and from others.
    if (left[stretches[index].lane] == 0)
      continue;
    --left[stretches[index].lane];
    ++stretches[index].count;
    ++placed;
    push(index);
  }
}

/// Divides vCTAs among intervals with equal starts, and spreads the remainder
/// evenly. Such ranges are affine in the SM, so that one lane op can represent
/// all of them.
void TaskPlacer::divideEvenly(unsigned task,
                              MutableArrayRef<Stretch> stretches) const {
  int64_t count = stretches.size();
  SmallVector<double> loads, shares;
  for (int64_t i = 0; i < count; ++i) {
    auto [begin, end] = getEvenRange(i, numVCTAs, count);
    loads.push_back(times.getLoad(stretches[i].lane));
    shares.push_back(input.costs.getWorkItemNs(task, begin, end));
  }
  std::rotate(stretches.begin(),
              stretches.begin() + chooseRotation(loads, shares),
              stretches.end());
  for (int64_t i = 0; i < count; ++i) {
    auto [begin, end] = getEvenRange(i, numVCTAs, count);
    stretches[i].count = end - begin;
  }
}

/// Returns a candidate that divides the vCTAs among the idle intervals of some
/// lanes so that the last vCTA ends early.
Candidate TaskPlacer::spread(unsigned task, ArrayRef<unsigned> lanes) const {
  int64_t numLanes = lanes.size();
  double ns = getWorkItemNs(task, 0, numVCTAs, numLanes) / numVCTAs;
  SmallVector<Stretch> stretches = collectStretches(task, lanes, ns);
  bool even = lanes.size() == allLanes.size() &&
              stretches.size() == lanes.size() && numVCTAs >= numLanes &&
              llvm::all_of(stretches, [&](const Stretch &stretch) {
                return stretch.start == stretches.front().start;
              });
  // Weights stream fastest if every SM has an equal share of them.
  int64_t share =
      streamsWeights ? (numVCTAs + numLanes - 1) / numLanes : numVCTAs;
  if (even)
    divideEvenly(task, stretches);
  else
    fillStretches(stretches, share, ns);

  Candidate candidate;
  int64_t begin = 0;
  for (const Stretch &stretch : stretches) {
    int64_t end = begin + stretch.count;
    if (begin < end)
      candidate.workItems.push_back(
          {stretch.lane, begin, end, stretch.start, 0});
    begin = end;
  }
  setTimes(task, candidate);
  return candidate;
}

/// Returns a candidate in which every vCTA runs in the lane that produced one
/// of its inputs, or a candidate of infinite cost.
Candidate TaskPlacer::follow(unsigned task, ArrayRef<unsigned> home) const {
  Candidate candidate;
  llvm::DenseMap<unsigned, double> free;
  for (int64_t begin = 0, end, count = home.size(); begin < count;
       begin = end) {
    unsigned lane = home[begin];
    end = begin + 1;
    while (end < count && home[end] == lane)
      ++end;
    // Fails if a lane is not available, or if there are too many work items.
    if (!llvm::is_contained(allLanes, lane) ||
        candidate.workItems.size() >= allLanes.size() * kMaxWorkItems)
      return Candidate();
    double &start = free.try_emplace(lane, times.getEnd(lane)).first->second;
    start = std::max(start, getReady({begin, end}, lane));
    candidate.workItems.push_back({lane, begin, end, start, 0});
    start += getWorkItemNs(task, begin, end, allLanes.size());
  }
  setTimes(task, candidate);
  return candidate;
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

/// Returns the lane of the producer that ends last, or the first lane if the
/// task has no producers.
unsigned TaskPlacer::getLastProducer() const {
  unsigned lane = allLanes.front();
  double last = 0;
  for (auto &[relation, ofSets] : ends)
    for (const ProducerEnds &producers : ofSets)
      if (producers.lanes > 0 && producers.last > last) {
        last = producers.last;
        lane = producers.lastLane;
      }
  return lane;
}

/// Returns the lanes, sorted by the time when they have the inputs and are
/// free.
SmallVector<unsigned> TaskPlacer::getPreferredLanes() const {
  std::vector<double> start = getReadyTimes();
  for (unsigned lane : allLanes)
    start[lane] = std::max(start[lane], times.getEnd(lane));
  return l2s.sortLanes(allLanes, start, getLastProducer());
}

/// Returns the lanes of some SMs that a task with this pin may use.
SmallVector<unsigned> TaskPlacer::getLanes(const Placement::Pin &pin,
                                           Interval sms) const {
  unsigned first = pin.smLane * input.target.getSms();
  return llvm::to_vector(
      llvm::seq<unsigned>(first + sms.first, first + sms.second));
}

Candidate TaskPlacer::chooseCandidate(unsigned task) const {
  const Placement::Pin &pin = input.placement.pins[task];
  Candidate tied;
  for (ArrayRef<unsigned> home : tiedHomes) {
    Candidate candidate = follow(task, home);
    if (candidate.cost < tied.cost)
      tied = std::move(candidate);
  }
  if (!tied.workItems.empty())
    return tied;
  SmallVector<unsigned> preferred = getPreferredLanes();
  Candidate best = spread(task, {preferred.front()});
  // vCTAs that depend on each other run in sequence in any placement.
  if (dependsOnItself)
    return best;
  double handoff = input.costs.getHandoffNs(allLanes.size());
  if (streamsWeights && vctaNs * numVCTAs > handoff)
    best = Candidate();
  auto consider = [&](Candidate candidate) {
    if (candidate.cost < best.cost)
      best = std::move(candidate);
  };
  // Fewer lanes may be better if hand-offs cost about as much as the work.
  bool isSmall = vctaNs * numVCTAs / allLanes.size() < 4 * handoff;
  if (isSmall && !streamsWeights)
    for (size_t lanes = 2; lanes < allLanes.size(); lanes *= 2) {
      SmallVector<unsigned> some(
          ArrayRef<unsigned>(preferred).take_front(lanes));
      llvm::sort(some);
      consider(spread(task, some));
    }
  for (ArrayRef<unsigned> home : homes)
    consider(follow(task, home));
  if (pin.hasPreference())
    consider(spread(task, getLanes(pin, pin.preferred)));
  consider(spread(task, allLanes));
  return best;
}

void TaskPlacer::place(unsigned task) {
  const Placement::Pin &pin = input.placement.pins[task];
  allLanes = getLanes(pin, pin.sms);
  collectEnds(task);
  findReadyBounds();
  vctaNs = input.costs.getTaskNs(task) / numVCTAs;
  const TaskCost &cost = input.costs.getTask(task);
  streamsWeights = cost.weightBytes > (cost.bytesRead + cost.bytesWritten) / 2;

  Candidate best = chooseCandidate(task);
  for (const CandidateWorkItem &workItem : best.workItems) {
    times.add(workItem.lane, {task, workItem.begin, workItem.end,
                              workItem.startTime, workItem.endTime});
    units.add(workItem.lane, pin, workItem.endTime);
  }
  times.finishTask(task);
}

ScheduledLanes TaskPlacer::run() {
  for (unsigned task : orderForPlacement(input))
    place(task);
  return times.take();
}

ScheduledLanes ListScheduler::schedule(const SchedulerInput &input) const {
  return TaskPlacer(input).run();
}

const Scheduler &mlir::ark::getListScheduler() {
  static const ListScheduler scheduler;
  return scheduler;
}
