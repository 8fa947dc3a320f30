//===- LaneTables.cpp - Instructions of all lanes
//--------------------------===//

#include "passes/kernel/LaneTables.h"

#include "lib/analysis/Packets.h"
#include "lib/support/BufferView.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ark;

void LaneTables::addSemaphores() {
  for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>()) {
    arrivals.push_back(semaphore.getArrivals());
    semaphores.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("name", semaphore.getSymNameAttr()),
         builder.getNamedAttr(
             "arrivals", builder.getI64IntegerAttr(semaphore.getArrivals())),
         builder.getNamedAttr(
             "handoff", builder.getStringAttr(
                            stringifyHandoffKind(semaphore.getHandoff())))}));
  }
}

/// Adds two entries to the operand table for every arrival at a semaphore of
/// kind `packet`: the first and the last packet of the sender. Adds nothing on
/// a GPU, where these semaphores are counters.
LogicalResult LaneTables::addPackets(const ExpandedSchedule &expanded) {
  packetEntries.assign(expanded.semaphores.size(), 0);
  TargetAttr target = findTarget(program);
  if (target && target.isGpu())
    return success();
  SmallVector<TaskOp> tasks(program.getBody().getOps<TaskOp>());
  std::vector<SmallVector<TaskOp>> senders(expanded.semaphores.size());
  for (const ExpandedLane &lane : expanded.lanes) {
    TaskOp last;
    for (const LaneItem &item : lane.items) {
      if (item.isRun())
        last = tasks[item.index];
      else if (item.kind == LaneItem::Kind::Signal)
        senders[item.index].push_back(last);
    }
  }
  for (auto [index, semaphore] : llvm::enumerate(expanded.semaphores)) {
    if (SemaphoreOp(semaphore).getHandoff() != HandoffKind::Packet)
      continue;
    packetEntries[index] = operands.size() / 2;
    for (TaskOp sender : senders[index]) {
      if (!sender || findPacketObstacle(sender))
        return SemaphoreOp(semaphore).emitOpError(
            "is of kind packet, but a signal follows no task that sends "
            "packets");
      FailureOr<BufferView> view = resolveBufferView(sender.getOuts().front());
      for (int64_t offset :
           {view->byteOffset, view->getByteEnd() - view->elementBytes})
        operands.append({kArenaSlot, offset});
    }
  }
  return success();
}

void LaneTables::addInstruction(abi::Opcode opcode, int64_t a, int64_t b,
                                int64_t c) {
  for (int64_t field : {static_cast<int64_t>(opcode), a, b, c})
    instructions.push_back(static_cast<int32_t>(field));
}

/// Adds the instruction of an item. Returns false if the item needs none.
bool LaneTables::addItem(const LaneItem &item) {
  switch (item.kind) {
  case LaneItem::Kind::Run:
    // A lane op of several SMs may give some of them an empty range.
    if (item.begin == item.end)
      return false;
    addInstruction(abi::Opcode::Run, item.index, item.begin, item.end);
    return true;
  case LaneItem::Kind::Signal:
    ++numSignals;
    addInstruction(abi::Opcode::Signal, item.index, 0,
                   packetEntries[item.index] > 0);
    return true;
  case LaneItem::Kind::Wait:
    ++numWaits;
    addInstruction(abi::Opcode::Wait, item.index, arrivals[item.index],
                   packetEntries[item.index]);
    return true;
  case LaneItem::Kind::Barrier:
    ++numBarriers;
    addInstruction(abi::Opcode::Barrier, item.index, arrivals[item.index]);
    return true;
  case LaneItem::Kind::Prefetch:
    // A prefetch is a hint, and the hardware prefetcher of a CPU suffices.
    return false;
  }
  llvm_unreachable("all kinds of items are handled");
}

/// If `item` is the work item that writes the state with `ark.stop`, adds the
/// instruction that ends the launch when the state is not zero. Returns false
/// for other items.
bool LaneTables::addStop(const LaneItem &item) {
  if (item.kind != LaneItem::Kind::Run || item.begin == item.end || !stop ||
      item.index != stop->task)
    return false;
  addInstruction(abi::Opcode::Stop, stop->slot);
  return true;
}

LogicalResult LaneTables::build() {
  addSemaphores();
  FailureOr<Timeline> times = computeTimeline(schedule);
  if (failed(times))
    return failure();
  ExpandedSchedule expanded(schedule);
  if (failed(addPackets(expanded)))
    return failure();
  for (auto [lane, laneTimes] : llvm::zip_equal(expanded.lanes, times->lanes)) {
    lanes.push_back(lane.sm);
    lanes.push_back(getNumInstructions());
    for (auto [item, time] : llvm::zip_equal(lane.items, laneTimes)) {
      if (!addItem(item))
        continue;
      timeline.push_back(std::llround(time.start));
      timeline.push_back(std::llround(time.duration));
      if (!addStop(item))
        continue;
      timeline.push_back(std::llround(time.start + time.duration));
      timeline.push_back(0);
    }
    lanes.push_back(getNumInstructions());
  }
  // A program without work still needs a lane; this one is empty.
  if (lanes.empty())
    lanes.append({0, 0, 0});
  return success();
}
