//===- LaneTables.h - Instructions of all lanes ------------------*- C++
//-*-===//
//
// The schedule of a program as tables: the instructions of every lane, with
// their predicted times, and the semaphores that they use.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_PASSES_KERNEL_LANETABLES_H
#define ARK_PASSES_KERNEL_LANETABLES_H

#include "dialects/ark/ArkOps.h"
#include "lib/analysis/Timeline.h"
#include "passes/kernel/KernelAbi.h"

namespace mlir::ark {

/// Slot of the arena in the buffer table. The slots of the arguments follow.
inline constexpr int64_t kArenaSlot = 0;

/// The state that ends a launch when it is not zero.
struct StopState {
  /// Slot of the state in the buffer table.
  int64_t slot;
  /// Index of the last task that writes the state.
  int64_t task;
};

/// Builds the tables of the lanes of one program.
class LaneTables {
public:
  /// Appends the packets of semaphores to `operands`, the operand table.
  LaneTables(ProgramOp program, ScheduleOp schedule,
             std::optional<StopState> stop, SmallVectorImpl<int64_t> &operands)
      : program(program), schedule(schedule), builder(program.getContext()),
        stop(stop), operands(operands) {}

  /// Builds one lane for every SM of a lane op, with the start and duration of
  /// every instruction. Fails with an error if the schedule has no timeline, or
  /// if a packet has no sender.
  LogicalResult build();

  /// Returns the entries of the semaphores, in the order of their indices.
  ArrayRef<Attribute> getSemaphores() const { return semaphores; }
  /// Returns the fields of the instructions: opcode and three arguments.
  ArrayRef<int32_t> getInstructions() const { return instructions; }
  /// Returns SM, first instruction and end of each lane.
  ArrayRef<int32_t> getLanes() const { return lanes; }
  /// Returns predicted start and duration of each instruction, in nanoseconds.
  ArrayRef<int64_t> getTimeline() const { return timeline; }

  size_t getNumInstructions() const { return instructions.size() / 4; }
  int64_t getNumWaits() const { return numWaits; }
  int64_t getNumSignals() const { return numSignals; }
  int64_t getNumBarriers() const { return numBarriers; }

private:
  void addSemaphores();
  LogicalResult addPackets(const ExpandedSchedule &expanded);
  bool addItem(const LaneItem &item);
  bool addStop(const LaneItem &item);
  void addInstruction(abi::Opcode opcode, int64_t a, int64_t b = 0,
                      int64_t c = 0);

  ProgramOp program;
  ScheduleOp schedule;
  Builder builder;
  std::optional<StopState> stop;
  SmallVectorImpl<int64_t> &operands;

  SmallVector<int64_t> arrivals;
  /// For each semaphore, the index of its first packet in the operand table, or
  /// 0 if waits poll a counter.
  SmallVector<int64_t> packetEntries;
  SmallVector<Attribute> semaphores;
  SmallVector<int32_t> instructions, lanes;
  SmallVector<int64_t> timeline;
  int64_t numWaits = 0, numSignals = 0, numBarriers = 0;
};

} // namespace mlir::ark

#endif // ARK_PASSES_KERNEL_LANETABLES_H
