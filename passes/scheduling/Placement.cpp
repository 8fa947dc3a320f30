//===- Placement.cpp - Where tasks may run --------------------------------===//

#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

/// A range of a task's plan: `array<i64: 0, 4>` or `[0, 4]`.
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
           << key << " to " << value << ", which is no range [begin, end)";
  return std::optional<Interval>({bounds[0], bounds[1]});
}

static InFlightDiagnostic emitPinError(TaskOp task, StringRef key,
                                       Interval pinned) {
  return task.emitOpError("plan pins ")
         << key << " to [" << pinned.first << ", " << pinned.second << "), ";
}

static bool overlaps(Interval a, Interval b) {
  return std::max(a.first, b.first) < std::min(a.second, b.second);
}

/// The widest gap that the slots leave, or the widest slot if there is none.
static unsigned getDefaultSlot(SmallVectorImpl<Placement::Slot> &slots,
                               int64_t warps) {
  SmallVector<Interval> taken;
  for (const Placement::Slot &slot : slots)
    taken.push_back(slot.warps);
  llvm::sort(taken);
  taken.push_back({warps, warps});
  Interval widest = {0, 0};
  int64_t begin = 0;
  for (Interval range : taken) {
    if (range.first - begin > widest.second - widest.first)
      widest = {begin, range.first};
    begin = std::max(begin, range.second);
  }
  if (widest.first < widest.second) {
    slots.push_back({widest, std::nullopt});
    return slots.size() - 1;
  }
  auto width = [](const Placement::Slot &slot) {
    return slot.warps.second - slot.warps.first;
  };
  return std::max_element(
             slots.begin(), slots.end(),
             [&](auto &a, auto &b) { return width(a) < width(b); }) -
         slots.begin();
}

/// The slot that a task's plan names, new or known.
static FailureOr<unsigned> findSlot(TaskOp task, Interval warps,
                                    std::optional<Interval> sharedMemory,
                                    SmallVectorImpl<Placement::Slot> &slots,
                                    ArrayRef<TaskOp> owners) {
  for (auto [index, slot] : llvm::enumerate(slots)) {
    bool sameWarps = slot.warps == warps;
    bool sameMemory = slot.sharedMemory == sharedMemory;
    if (sameWarps && sameMemory)
      return index;
    bool memoryClash = slot.sharedMemory && sharedMemory &&
                       overlaps(*slot.sharedMemory, *sharedMemory);
    if (!overlaps(slot.warps, warps) && !memoryClash)
      continue;
    InFlightDiagnostic diagnostic =
        emitPinError(task, "warps", warps)
        << "which share warps or shared memory with another task's lane";
    TaskOp owner = owners[index];
    diagnostic.attachNote(owner.getLoc())
        << "'" << owner.getName() << "' pins warps [" << slot.warps.first
        << ", " << slot.warps.second << ")";
    return diagnostic;
  }
  slots.push_back({warps, sharedMemory});
  return slots.size() - 1;
}

FailureOr<Placement> Placement::read(ArrayRef<TaskOp> tasks,
                                     TargetAttr target) {
  Placement placement;
  SmallVector<TaskOp> owners;
  SmallVector<unsigned> unpinned;
  Interval allSms = {0, target.getSms()}, allWarps = {0, target.getWarps()};
  for (auto [index, task] : llvm::enumerate(tasks)) {
    auto sms = readRange(task, "sms"), warps = readRange(task, "warps"),
         memory = readRange(task, "shared_memory");
    if (failed(sms) || failed(warps) || failed(memory))
      return failure();
    if (*sms && (*sms)->second > allSms.second)
      return emitPinError(task, "sms", **sms)
             << "and the target has " << allSms.second << " SMs";
    if (*warps && (*warps)->second > allWarps.second)
      return emitPinError(task, "warps", **warps)
             << "and the target has " << allWarps.second << " warps";
    if (*memory && (*memory)->second > target.getSharedMemory())
      return emitPinError(task, "shared_memory", **memory)
             << "and the target has " << target.getSharedMemory() << " bytes";
    placement.pins.push_back({sms->value_or(allSms), 0});
    if (!*warps && !*memory) {
      unpinned.push_back(index);
      continue;
    }
    FailureOr<unsigned> slot = findSlot(task, warps->value_or(allWarps),
                                        *memory, placement.slots, owners);
    if (failed(slot))
      return failure();
    if (*slot == owners.size())
      owners.push_back(task);
    placement.pins.back().slot = *slot;
  }
  if (!unpinned.empty()) {
    unsigned slot = getDefaultSlot(placement.slots, target.getWarps());
    for (unsigned task : unpinned)
      placement.pins[task].slot = slot;
  }
  for (auto [position, pin] : llvm::enumerate(placement.pins)) {
    TaskOp task = tasks[position];
    Interval warps = placement.slots[pin.slot].warps;
    if (static_cast<int64_t>(task.getWarps()) > warps.second - warps.first)
      return task.emitOpError("needs ")
             << task.getWarps() << " warps, and its lane has "
             << warps.second - warps.first;
  }
  return placement;
}
