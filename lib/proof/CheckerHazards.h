//===- CheckerHazards.h - Hazards and their errors --------------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERHAZARDS_H
#define ARK_LIB_PROOF_CHECKERHAZARDS_H

#include "lib/proof/CheckerCells.h"
#include "lib/proof/CheckerOrder.h"

namespace mlir::ark::checker {

/// One access of a vCTA. The vCTAs of all tasks are numbered in program order.
struct Visit {
  static constexpr uint32_t kNone = ~0u;

  uint32_t vcta = kNone, operand = 0;

  explicit operator bool() const { return vcta != kNone; }
};

enum class HazardKind {
  ReadAfterWrite,
  WriteAfterRead,
  WriteAfterWrite,
  /// Two vCTAs of a task write the same bytes (task_c6).
  Overlap,
  /// No task has written the bytes.
  Unwritten,
  /// Packets are received in words of another size than they were sent.
  OtherWords,
  /// Two packets in one iteration.
  SecondPacket,
};

/// A defect of a schedule, found at a cell. Only `Unwritten` has no `before`.
struct Hazard {
  HazardKind kind;
  uint32_t cell;
  Visit before, after;
};

/// The data of a schedule that error messages need.
struct CheckedSchedule {
  const ProgramAccesses &program;
  ArrayRef<Lane> lanes;
  const VCTAOrder &order;

  TaskOp getTask(uint32_t vcta) const {
    return program.getTasks()[program.getTaskOf(vcta)];
  }
  int64_t getElementBytes(Visit visit) const {
    Type type = getTask(visit.vcta)->getOperand(visit.operand).getType();
    return ark::getElementBytes(cast<ShapedType>(type).getElementType());
  }
};

/// Emits the error of a hazard.
LogicalResult reportHazard(const Hazard &hazard,
                           const CheckedSchedule &schedule,
                           const BufferAccesses &buffer,
                           const CellPartition &partition);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERHAZARDS_H
