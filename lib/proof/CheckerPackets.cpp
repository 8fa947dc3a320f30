//===- CheckerPackets.cpp - Hand-offs by packets --------------------------===//

#include "lib/proof/CheckerPackets.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

namespace {
class PacketChecker {
public:
  PacketChecker(ScheduleOp schedule, const ProgramAccesses &program,
                ArrayRef<Lane> lanes);

  LogicalResult run();

private:
  bool isPacket(FlatSymbolRefAttr semaphore) const {
    return packets.contains(semaphore.getAttr());
  }
  LogicalResult checkLane(const Lane &lane);
  LogicalResult checkSignal(SignalOp signal, RunOp run, int64_t sm);
  std::optional<StringRef> findObstacle(TaskOp task) const;
  LogicalResult checkExclusive(TaskOp putter) const;

  const ProgramAccesses &program;
  ArrayRef<Lane> lanes;
  llvm::StringMap<TaskOp> taskOfName;
  llvm::DenseSet<StringAttr> packets;
  /// The write accesses of every task.
  llvm::DenseMap<Operation *, SmallVector<const OperandAccess *, 1>> writes;
  /// Tasks that a signal of a semaphore of kind `packet` follows.
  llvm::SetVector<Operation *> putters;
};
} // namespace

PacketChecker::PacketChecker(ScheduleOp schedule,
                             const ProgramAccesses &program,
                             ArrayRef<Lane> lanes)
    : program(program), lanes(lanes) {
  for (TaskOp task : program.getTasks())
    taskOfName.try_emplace(task.getName(), task);
  for (const BufferAccesses &buffer : program.getBuffers())
    for (const OperandAccess *access : buffer.accesses)
      if (access->isWrite)
        writes[program.getTasks()[access->task]].push_back(access);
  for (auto semaphore : schedule.getBody().getOps<SemaphoreOp>())
    if (semaphore.getHandoff() == HandoffKind::Packet)
      packets.insert(semaphore.getSymNameAttr());
}

/// Returns true if a vCTA writes words that carry the epoch.
static bool carriesEpoch(TaskOp task) {
  WalkResult walk =
      task.getBody().walk([](EpochOp) { return WalkResult::interrupt(); });
  return walk.wasInterrupted();
}

/// Returns true if the one vCTA of a task accesses every element of an operand.
static bool touchesAll(const OperandAccess &access) {
  bool isWhole = true;
  forEachRegion(access, [&](int64_t, ArrayRef<Bounds> box) {
    for (auto [range, extent] : llvm::zip(box, access.view.shape))
      isWhole &= range == Bounds(0, extent);
  });
  return isWhole;
}

/// Returns true if a view has elements and no byte lies between them.
static bool isContiguous(const BufferView &view) {
  int64_t bytes = view.getNumElements() * view.elementBytes;
  return bytes != 0 && view.getByteEnd() - view.byteOffset == bytes;
}

/// Returns the reason why readers of the packets of a task cannot tell that the
/// task has ended, or nothing.
std::optional<StringRef> PacketChecker::findObstacle(TaskOp task) const {
  if (!carriesEpoch(task))
    return "it puts no packets";
  auto written = writes.find(task);
  if (written == writes.end() || written->second.size() != 1)
    return "it writes more than its packets";
  if (task.getNumVCTAs() != 1)
    return "it has more than one vCTA";
  const OperandAccess &access = *written->second.front();
  if (!access.view.elementType.isSignlessInteger(64) ||
      !isa_and_nonnull<ArenaOp>(access.view.root.getDefiningOp()))
    return "its packets are not in the arena";
  if (!touchesAll(access))
    return "it does not write all of its packets";
  if (!isContiguous(access.view))
    return "its packets are not contiguous";
  return std::nullopt;
}

/// Checks that the work item before a signal has one vCTA, which writes only
/// packets.
LogicalResult PacketChecker::checkSignal(SignalOp signal, RunOp run,
                                         int64_t sm) {
  if (!run || run.getRangeOn(sm).first == run.getRangeOn(sm).second)
    return signal.emitOpError("of '@")
           << signal.getSemaphore() << "' on SM " << sm
           << " does not come right after a work item that puts packets";
  TaskOp task = taskOfName.lookup(run.getTask());
  if (std::optional<StringRef> obstacle = findObstacle(task)) {
    InFlightDiagnostic diagnostic = signal.emitOpError("of '@")
                                    << signal.getSemaphore() << "' cannot be "
                                    << "signalled by the packets of '"
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
      return barrier.emitOpError("uses semaphore '@")
             << barrier.getSemaphore()
             << "', which stands for rank packets: a barrier needs a "
             << "counter";
    auto signal = dyn_cast<SignalOp>(item);
    if (signal && isPacket(signal.getSemaphoreAttr()) &&
        failed(checkSignal(signal, run, lane.sm)))
      return failure();
    // Several signals may follow one work item.
    if (!signal)
      run = dyn_cast<RunOp>(item);
  }
  return success();
}

/// Checks that no other task writes a byte of a task's packets. A word is then
/// a packet of this iteration or of the previous one.
LogicalResult PacketChecker::checkExclusive(TaskOp putter) const {
  const BufferView &own = writes.lookup(putter).front()->view;
  for (TaskOp task : program.getTasks()) {
    if (task == putter)
      continue;
    for (const OperandAccess *access : writes.lookup(task)) {
      const BufferView &view = access->view;
      if (view.root != own.root || view.byteOffset >= own.getByteEnd() ||
          own.byteOffset >= view.getByteEnd())
        continue;
      InFlightDiagnostic diagnostic =
          task.emitOpError("'")
          << task.getName() << "' writes bytes that "
          << "hold the packets of '" << putter.getName() << "'";
      diagnostic.attachNote(putter.getLoc()) << "this task sends the packets";
      return diagnostic;
    }
  }
  return success();
}

/// Checks that the task packets are integers of 32 or 64 bits, which one
/// instruction stores and loads as a whole.
static LogicalResult checkTaskPackets(const ProgramAccesses &program) {
  for (const BufferAccesses &buffer : program.getBuffers()) {
    if (!isPackets(buffer.root))
      continue;
    for (const OperandAccess *access : buffer.accesses) {
      Type word = access->view.elementType;
      if (word.isSignlessInteger(32) || word.isSignlessInteger(64))
        continue;
      TaskOp task = program.getTasks()[access->task];
      return task.emitOpError("operand ")
             << access->operand << " of '" << task.getName()
             << "' has packets of " << word
             << ", which are not integers of 32 or 64 bits";
    }
  }
  return success();
}

LogicalResult PacketChecker::run() {
  if (failed(checkTaskPackets(program)))
    return failure();
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

LogicalResult checker::checkPackets(ScheduleOp schedule,
                                    const ProgramAccesses &program,
                                    ArrayRef<Lane> lanes) {
  return PacketChecker(schedule, program, lanes).run();
}
