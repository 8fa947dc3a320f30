//===- Placement.cpp - Resources on which tasks may run -------------------===//

#include "dialects/ark/ArkDomains.h"
#include "lib/analysis/UnitOrder.h"
#include "lib/support/PlanRank.h"
#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace mlir;
using namespace mlir::ark;

/// Reads a range of a task's plan: `array<i64: 0, 4>` or `[0, 4]`.
static FailureOr<std::optional<Interval>> readRange(TaskOp task,
                                                    StringRef key) {
  Attribute value = task.getPlan() ? task.getPlan()->get(key) : Attribute();
  if (!value)
    return std::optional<Interval>();
  SmallVector<int64_t, 2> bounds;
  if (auto dense = dyn_cast<DenseI64ArrayAttr>(value))
    llvm::append_range(bounds, dense.asArrayRef());
  else if (auto array = dyn_cast<ArrayAttr>(value))
    for (Attribute element : array)
      if (auto integer = dyn_cast<IntegerAttr>(element))
        bounds.push_back(integer.getInt());
  if (bounds.size() != 2 || bounds[0] < 0 || bounds[0] >= bounds[1])
    return task.emitOpError("plan pins ")
           << key << " to " << value << ", which is not a range [begin, end)";
  return std::optional<Interval>({bounds[0], bounds[1]});
}

/// Returns false if the plan requests no synchronisation with earlier tasks.
static bool readSync(TaskOp task) {
  BoolAttr sync;
  if (task.getPlan())
    sync = task.getPlan()->getAs<BoolAttr>("sync");
  return !sync || sync.getValue();
}

static InFlightDiagnostic emitPinError(TaskOp task, StringRef key,
                                       Interval pinned) {
  return task.emitOpError("plan pins ")
         << key << " to [" << pinned.first << ", " << pinned.second << "), ";
}

static bool overlaps(Interval a, Interval b) {
  return std::max(a.first, b.first) < std::min(a.second, b.second);
}

/// Returns the widest gap between ranges in [0, end); it may be empty.
static Interval findWidestGap(SmallVector<Interval> taken, int64_t end) {
  llvm::sort(taken);
  taken.push_back({end, end});
  Interval widest = {0, 0};
  int64_t begin = 0;
  for (Interval range : taken) {
    if (range.first - begin > widest.second - widest.first)
      widest = {begin, range.first};
    begin = std::max(begin, range.second);
  }
  return widest;
}

/// Adds a lane with the widest ranges of warps and shared memory that no other
/// lane of an SM uses. If all warps or all bytes are in use, returns the lane
/// with the most warps.
static unsigned getDefaultSMLane(SmallVectorImpl<Placement::SMLane> &smLanes,
                                 TargetAttr target) {
  SmallVector<Interval> warps, memory;
  for (const Placement::SMLane &smLane : smLanes) {
    warps.push_back(smLane.warps);
    if (smLane.sharedMemory)
      memory.push_back(*smLane.sharedMemory);
  }
  Interval freeWarps = findWidestGap(warps, target.getWarps());
  Interval freeMemory = findWidestGap(memory, target.getSharedMemory());
  bool memoryLeft = memory.empty() || freeMemory.first < freeMemory.second;
  if (freeWarps.first < freeWarps.second && memoryLeft) {
    smLanes.push_back(
        {freeWarps, memory.empty() ? std::optional<Interval>() : freeMemory});
    return smLanes.size() - 1;
  }
  auto width = [](const Placement::SMLane &smLane) {
    return smLane.warps.second - smLane.warps.first;
  };
  return std::max_element(
             smLanes.begin(), smLanes.end(),
             [&](auto &a, auto &b) { return width(a) < width(b); }) -
         smLanes.begin();
}

/// Returns the lane of an SM that a task's plan names, new or known.
static FailureOr<unsigned>
findSMLane(TaskOp task, Interval warps, std::optional<Interval> sharedMemory,
           SmallVectorImpl<Placement::SMLane> &smLanes,
           ArrayRef<TaskOp> owners) {
  for (auto [index, smLane] : llvm::enumerate(smLanes)) {
    bool sameWarps = smLane.warps == warps;
    bool sameMemory = smLane.sharedMemory == sharedMemory;
    if (sameWarps && sameMemory)
      return index;
    bool memoryClash = smLane.sharedMemory && sharedMemory &&
                       overlaps(*smLane.sharedMemory, *sharedMemory);
    if (!overlaps(smLane.warps, warps) && !memoryClash)
      continue;
    InFlightDiagnostic diagnostic =
        emitPinError(task, "warps", warps)
        << "which share warps or shared memory with another task's lane";
    TaskOp owner = owners[index];
    diagnostic.attachNote(owner.getLoc())
        << "'" << owner.getName() << "' pins warps [" << smLane.warps.first
        << ", " << smLane.warps.second << ")";
    return diagnostic;
  }
  smLanes.push_back({warps, sharedMemory});
  return smLanes.size() - 1;
}

/// Returns the rank of a task; 0 without a rank.
static FailureOr<int64_t> readRank(TaskOp task, int64_t ranks) {
  Attribute value = getRankAttr(task);
  if (!value)
    return 0;
  auto rank = dyn_cast<IntegerAttr>(value);
  if (!rank || rank.getInt() < 0 || rank.getInt() >= ranks)
    return task.emitOpError("plan names rank ")
           << value << ", but the program has " << ranks << " ranks";
  return rank.getInt();
}

namespace {
/// The SMs of each rank. The last SMs of a rank start copies by network
/// adapters, one SM for each rank to which the rank copies. A lane that copies
/// signals the receiver only, so computation needs other lanes.
class RankSMs {
public:
  RankSMs(ArrayRef<TaskOp> tasks, int64_t sms, int64_t ranks)
      : sms(sms), share(sms / ranks), peers(ranks) {
    for (TaskOp task : tasks)
      if (std::optional<int64_t> peer = getNetworkPeer(task))
        // A later check reports ranks beyond the last one.
        if (int64_t rank = ark::getRank(task); rank >= 0 && rank < ranks)
          peers[rank].insert(*peer);
  }

  /// Returns the SMs of a rank that compute.
  Interval getComputing(int64_t rank) const {
    int64_t first = rank * share;
    return {first, first + share - int64_t(peers[rank].size())};
  }
  /// Returns the SM of a rank that copies to a peer.
  Interval getCopying(int64_t rank, int64_t peer) const {
    auto found = llvm::find(peers[rank], peer);
    int64_t sm =
        getComputing(rank).second + std::distance(peers[rank].begin(), found);
    return {sm, sm + 1};
  }
  FailureOr<Interval> get(TaskOp task, std::optional<Interval> pinned) const;
  FailureOr<SmallVector<Interval>> getAll(ArrayRef<TaskOp> tasks) const;

private:
  int64_t sms, share;
  /// For each rank, the ranks of other domains to which it copies.
  SmallVector<std::set<int64_t>> peers;
};
} // namespace

/// Returns the SMs that a task may use. `pinned` counts from the first SM of
/// its rank.
FailureOr<Interval> RankSMs::get(TaskOp task,
                                 std::optional<Interval> pinned) const {
  FailureOr<int64_t> rank = readRank(task, peers.size());
  if (failed(rank))
    return failure();
  if (std::optional<int64_t> peer = getNetworkPeer(task))
    return getCopying(*rank, *peer);
  // A task without a rank may use all SMs.
  Interval own = getRankAttr(task) ? getComputing(*rank) : Interval(0, sms);
  if (!pinned)
    return own;
  int64_t count = own.second - own.first;
  if (pinned->second <= count)
    return Interval(own.first + pinned->first, own.first + pinned->second);
  InFlightDiagnostic diagnostic =
      emitPinError(task, "sms", *pinned)
      << "and the target has " << (getRankAttr(task) ? share : sms) << " SMs";
  if (size_t copying = peers[*rank].size())
    diagnostic << ", of which the last " << copying
               << " copy to ranks of other domains";
  return diagnostic;
}

/// Returns the SMs of each rank that compute. Fails if a rank has none.
FailureOr<SmallVector<Interval>> RankSMs::getAll(ArrayRef<TaskOp> tasks) const {
  SmallVector<Interval> all;
  for (int64_t rank = 0; rank < int64_t(peers.size()); ++rank) {
    all.push_back(getComputing(rank));
    if (peers[rank].empty() || all.back().first < all.back().second)
      continue;
    TaskOp copy = *llvm::find_if(tasks, [&](TaskOp task) {
      return getNetworkPeer(task) && ark::getRank(task) == rank;
    });
    return copy.emitOpError("is one of the copies of rank ")
           << rank << " to " << peers[rank].size()
           << " ranks of other domains. Each of these ranks needs an SM, and "
              "the rank has "
           << share << " SMs";
  }
  return all;
}

FailureOr<Placement> Placement::read(ArrayRef<TaskOp> tasks, TargetAttr target,
                                     int64_t ranks) {
  Placement placement;
  FailureOr<SmallVector<std::optional<unsigned>>> units = numberUnits(tasks);
  if (failed(units))
    return failure();
  SmallVector<TaskOp> owners;
  SmallVector<unsigned> unpinned;
  RankSMs rankSMs(tasks, target.getSms(), ranks);
  FailureOr<SmallVector<Interval>> computing = rankSMs.getAll(tasks);
  if (failed(computing))
    return failure();
  placement.smsOfRank = std::move(*computing);
  Interval allWarps = {0, target.getWarps()};
  for (auto [index, task] : llvm::enumerate(tasks)) {
    auto sms = readRange(task, "sms"), warps = readRange(task, "warps"),
         memory = readRange(task, "shared_memory");
    if (failed(sms) || failed(warps) || failed(memory))
      return failure();
    FailureOr<Interval> range = rankSMs.get(task, *sms);
    if (failed(range))
      return failure();
    if (*warps && (*warps)->second > allWarps.second)
      return emitPinError(task, "warps", **warps)
             << "and the target has " << allWarps.second << " warps";
    if (*memory && (*memory)->second > target.getSharedMemory())
      return emitPinError(task, "shared_memory", **memory)
             << "and the target has " << target.getSharedMemory() << " bytes";
    placement.pins.push_back({*range, 0, readSync(task)});
    placement.pins.back().unit = (*units)[index];
    if (!*warps && !*memory) {
      unpinned.push_back(index);
      continue;
    }
    FailureOr<unsigned> smLane = findSMLane(task, warps->value_or(allWarps),
                                            *memory, placement.smLanes, owners);
    if (failed(smLane))
      return failure();
    if (*smLane == owners.size())
      owners.push_back(task);
    placement.pins.back().smLane = *smLane;
  }
  if (!unpinned.empty()) {
    unsigned smLane = getDefaultSMLane(placement.smLanes, target);
    for (unsigned task : unpinned)
      placement.pins[task].smLane = smLane;
  }
  for (auto [position, pin] : llvm::enumerate(placement.pins)) {
    TaskOp task = tasks[position];
    const SMLane &smLane = placement.smLanes[pin.smLane];
    Interval warps = smLane.warps;
    if (static_cast<int64_t>(task.getWarps()) > warps.second - warps.first)
      return task.emitOpError("needs ")
             << task.getWarps() << " warps, and its lane has "
             << warps.second - warps.first;
    if (!smLane.sharedMemory)
      continue;
    int64_t bytes = smLane.sharedMemory->second - smLane.sharedMemory->first;
    if (static_cast<int64_t>(task.getSharedMemory()) > bytes)
      return task.emitOpError("needs ")
             << task.getSharedMemory()
             << " bytes of shared memory, and its lane has " << bytes;
  }
  return placement;
}
