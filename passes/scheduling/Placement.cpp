//===- Placement.cpp - Resources on which tasks may run -------------------===//

#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

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

/// Returns the SMs of the task's rank. A task without rank may use all SMs.
static FailureOr<Interval> getRankSMs(TaskOp task, int64_t sms, int64_t ranks) {
  Attribute value =
      task.getPlan() ? task.getPlan()->get(ArkDialect::kRankKey) : Attribute();
  if (!value)
    return Interval(0, sms);
  auto rank = dyn_cast<IntegerAttr>(value);
  if (!rank || rank.getInt() < 0 || rank.getInt() >= ranks)
    return task.emitOpError("plan names rank ")
           << value << ", but the program has " << ranks << " ranks";
  int64_t share = sms / ranks;
  return Interval(rank.getInt() * share, (rank.getInt() + 1) * share);
}

/// Returns the SMs that a task may use. `pinned` counts from the first SM of
/// its rank.
static FailureOr<Interval> getSMs(TaskOp task, std::optional<Interval> pinned,
                                  int64_t sms, int64_t ranks) {
  FailureOr<Interval> own = getRankSMs(task, sms, ranks);
  if (failed(own) || !pinned)
    return own;
  int64_t count = own->second - own->first;
  if (pinned->second > count)
    return emitPinError(task, "sms", *pinned)
           << "and the target has " << count << " SMs";
  return Interval(own->first + pinned->first, own->first + pinned->second);
}

FailureOr<Placement> Placement::read(ArrayRef<TaskOp> tasks, TargetAttr target,
                                     int64_t ranks) {
  Placement placement;
  SmallVector<TaskOp> owners;
  SmallVector<unsigned> unpinned;
  Interval allWarps = {0, target.getWarps()};
  for (auto [index, task] : llvm::enumerate(tasks)) {
    auto sms = readRange(task, "sms"), warps = readRange(task, "warps"),
         memory = readRange(task, "shared_memory");
    if (failed(sms) || failed(warps) || failed(memory))
      return failure();
    FailureOr<Interval> range = getSMs(task, *sms, target.getSms(), ranks);
    if (failed(range))
      return failure();
    if (*warps && (*warps)->second > allWarps.second)
      return emitPinError(task, "warps", **warps)
             << "and the target has " << allWarps.second << " warps";
    if (*memory && (*memory)->second > target.getSharedMemory())
      return emitPinError(task, "shared_memory", **memory)
             << "and the target has " << target.getSharedMemory() << " bytes";
    placement.pins.push_back({*range, 0, readSync(task)});
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
