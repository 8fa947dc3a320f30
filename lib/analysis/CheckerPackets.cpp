//===- CheckerPackets.cpp - Hand-offs by packets --------------------------===//

#include "lib/analysis/CheckerPackets.h"

#include "lib/analysis/Packets.h"
#include "lib/support/BufferView.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

namespace {
class PacketChecker {
public:
  PacketChecker(ScheduleOp schedule, ArrayRef<Lane> lanes);

  LogicalResult run();

private:
  bool isPacket(FlatSymbolRefAttr semaphore) const {
    return packets.contains(semaphore.getAttr());
  }
  LogicalResult checkLane(const Lane &lane);
  LogicalResult checkSignal(SignalOp signal, RunOp run, int64_t sm);
  LogicalResult checkExclusive(TaskOp putter);

  ArrayRef<Lane> lanes;
  SmallVector<TaskOp> tasks;
  llvm::StringMap<TaskOp> taskOfName;
  llvm::DenseSet<StringAttr> packets;
  /// Tasks whose packets somebody waits for.
  llvm::SetVector<Operation *> putters;
};
} // namespace

PacketChecker::PacketChecker(ScheduleOp schedule, ArrayRef<Lane> lanes)
    : lanes(lanes) {
  auto program = cast<ProgramOp>(schedule->getParentOp());
  llvm::append_range(tasks, program.getBody().getOps<TaskOp>());
  for (TaskOp task : tasks)
    taskOfName.try_emplace(task.getName(), task);
  for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>())
    if (semaphore.getHandoff() == HandoffKind::Packet)
      packets.insert(semaphore.getSymNameAttr());
}

/// The one vCTA of `run` puts packets, and no more.
LogicalResult PacketChecker::checkSignal(SignalOp signal, RunOp run,
                                         int64_t sm) {
  if (!run || run.getRangeOn(sm).first == run.getRangeOn(sm).second)
    return signal.emitOpError("of '@")
           << signal.getSemaphore() << "' on SM " << sm
           << " does not come right after a run that puts packets";
  TaskOp task = taskOfName.lookup(run.getTask());
  if (std::optional<StringRef> obstacle = findPacketObstacle(task)) {
    InFlightDiagnostic diagnostic = signal.emitOpError("of '@")
                                    << signal.getSemaphore() << "' cannot be "
                                    << "told by the packets of '"
                                    << task.getName() << "': " << *obstacle;
    diagnostic.attachNote(task.getLoc()) << "the task is here";
    return diagnostic;
  }
  putters.insert(task);
  return success();
}

LogicalResult PacketChecker::checkLane(const Lane &lane) {
  RunOp run;
  for (Operation *item : lane.items) {
    if (auto barrier = dyn_cast<BarrierOp>(item);
        barrier && isPacket(barrier.getSemaphoreAttr()))
      return barrier.emitOpError("meets at '@")
             << barrier.getSemaphore() << "', which is told by packets";
    auto signal = dyn_cast<SignalOp>(item);
    if (signal && isPacket(signal.getSemaphoreAttr()) &&
        failed(checkSignal(signal, run, lane.sm)))
      return failure();
    // Other signals touch no packets.
    if (!signal)
      run = dyn_cast<RunOp>(item);
  }
  return success();
}

/// Nobody else writes a byte of a task's packets: what is there is what the
/// task put in this iteration or in the last one.
LogicalResult PacketChecker::checkExclusive(TaskOp putter) {
  FailureOr<BufferView> packets = resolveBufferView(putter.getOuts().front());
  if (failed(packets))
    return failure();
  for (TaskOp task : tasks) {
    if (task == putter)
      continue;
    for (Value out : task.getOuts()) {
      FailureOr<BufferView> view = resolveBufferView(out);
      if (failed(view))
        return failure();
      if (view->root != packets->root ||
          view->byteOffset >= packets->getByteEnd() ||
          packets->byteOffset >= view->getByteEnd())
        continue;
      InFlightDiagnostic diagnostic = task.emitOpError("'")
                                      << task.getName() << "' writes where the "
                                      << "packets of '" << putter.getName()
                                      << "' lie";
      diagnostic.attachNote(putter.getLoc()) << "the packets are put here";
      return diagnostic;
    }
  }
  return success();
}

LogicalResult PacketChecker::run() {
  if (packets.empty())
    return success();
  for (const Lane &lane : lanes)
    if (failed(checkLane(lane)))
      return failure();
  for (Operation *putter : putters)
    if (failed(checkExclusive(cast<TaskOp>(putter))))
      return failure();
  return success();
}

LogicalResult mlir::ark::checker::checkPackets(ScheduleOp schedule,
                                               ArrayRef<Lane> lanes) {
  return PacketChecker(schedule, lanes).run();
}
