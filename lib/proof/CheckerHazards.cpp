//===- CheckerHazards.cpp - Hazards and their errors ----------------------===//

#include "lib/proof/CheckerHazards.h"

using namespace mlir;
using namespace mlir::ark;
using namespace mlir::ark::checker;

namespace {
class HazardReporter {
public:
  HazardReporter(const Hazard &hazard, const CheckedSchedule &schedule,
                 const BufferAccesses &buffer, const CellPartition &partition)
      : before(hazard.before), after(hazard.after),
        bytes(partition.getBytes(hazard.cell)), schedule(schedule),
        buffer(buffer), isExact(partition.isExact()) {}

  LogicalResult reportOrder(StringRef hazard);
  LogicalResult reportOverlap();
  LogicalResult reportUnwritten();
  LogicalResult reportWords();
  LogicalResult reportSecondPacket();

private:
  Operation *getWorkItem(Visit visit) const;
  std::string describe(Visit visit) const;
  std::string describeBytes() const;
  std::string describeRoot() const;
  void attachOperand(InFlightDiagnostic &diagnostic, Visit visit) const;
  void attachInexact(InFlightDiagnostic &diagnostic) const;

  Visit before, after;
  Bounds bytes;
  const CheckedSchedule &schedule;
  const BufferAccesses &buffer;
  bool isExact;
};
} // namespace

//===----------------------------------------------------------------------===//
// Descriptions
//===----------------------------------------------------------------------===//

Operation *HazardReporter::getWorkItem(Visit visit) const {
  const Position &position = schedule.order.getPosition(visit.vcta);
  return schedule.lanes[position.lane].items[position.item];
}

/// Returns text such as `vCTA 3 of 'relu' on SM 1`.
std::string HazardReporter::describe(Visit visit) const {
  unsigned task = schedule.program.getTaskOf(visit.vcta);
  uint32_t lane = schedule.order.getPosition(visit.vcta).lane;
  return ("vCTA " + Twine(visit.vcta - schedule.program.getFirstVCTA(task)) +
          " of '" + schedule.getTask(visit.vcta).getName() + "' on SM " +
          Twine(schedule.lanes[lane].sm))
      .str();
}

std::string HazardReporter::describeBytes() const {
  return ("bytes [" + Twine(bytes.first) + ", " + Twine(bytes.second) + ")")
      .str();
}

std::string HazardReporter::describeRoot() const {
  auto argument = dyn_cast<BlockArgument>(buffer.root);
  if (!argument)
    return isPackets(buffer.root) ? "the packets" : "the arena";
  auto program = cast<ProgramOp>(argument.getOwner()->getParentOp());
  return ("'" + program.getArgumentName(argument.getArgNumber()) + "'").str();
}

void HazardReporter::attachOperand(InFlightDiagnostic &diagnostic,
                                   Visit visit) const {
  TaskOp task = schedule.getTask(visit.vcta);
  diagnostic.attachNote(task.getLoc())
      << "operand " << visit.operand << " of '" << task.getName()
      << "', region " << task.getRegion(visit.operand);
}

/// Attaches a note that the hazard may not exist, if the checker compares the
/// regions of the buffer inexactly.
void HazardReporter::attachInexact(InFlightDiagnostic &diagnostic) const {
  if (!isExact)
    diagnostic.attachNote(buffer.root.getLoc())
        << "regions of this buffer are too scattered to be compared byte by "
           "byte; there may be no hazard";
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

LogicalResult HazardReporter::reportOrder(StringRef hazard) {
  bool inOneWorkItem = schedule.order.areInOneWorkItem(before.vcta, after.vcta);
  StringRef order = inOneWorkItem ? " in the same work item as "
                    : schedule.order.isOrdered(after.vcta, before.vcta)
                        ? " before "
                        : " without waiting for ";
  InFlightDiagnostic diagnostic =
      getWorkItem(after)->emitOpError(hazard)
      << " hazard: " << describe(after)
      << (hazard == "RAW" ? " reads " : " writes ") << describeBytes() << " of "
      << describeRoot() << order << describe(before)
      << (hazard == "WAR" ? ", which reads them" : ", which writes them");
  if (order == " before ")
    diagnostic << " and comes first in the program";
  attachOperand(diagnostic, before);
  if (schedule.getTask(before.vcta) != schedule.getTask(after.vcta) ||
      before.operand != after.operand)
    attachOperand(diagnostic, after);
  if (inOneWorkItem)
    diagnostic.attachNote(getWorkItem(after)->getLoc())
        << "vCTAs of one work item have no order; work items of a lane do";
  attachInexact(diagnostic);
  return diagnostic;
}

LogicalResult HazardReporter::reportOverlap() {
  InFlightDiagnostic diagnostic =
      schedule.getTask(after.vcta).emitOpError()
      << describe(after) << " writes " << describeBytes() << " of "
      << describeRoot() << ", which " << describe(before)
      << " writes; only a task that updates them in place may (task_c6)";
  attachOperand(diagnostic, before);
  if (before.operand != after.operand)
    attachOperand(diagnostic, after);
  attachInexact(diagnostic);
  return diagnostic;
}

LogicalResult HazardReporter::reportUnwritten() {
  InFlightDiagnostic diagnostic = getWorkItem(after)->emitOpError()
                                  << describe(after) << " reads "
                                  << describeBytes() << " of " << describeRoot()
                                  << ", which no task has written";
  attachOperand(diagnostic, after);
  return diagnostic;
}

LogicalResult HazardReporter::reportWords() {
  InFlightDiagnostic diagnostic =
      getWorkItem(after)->emitOpError()
      << describe(after) << " reads " << describeBytes()
      << " of the packets as words of " << schedule.getElementBytes(after)
      << " bytes, which " << describe(before) << " writes as words of "
      << schedule.getElementBytes(before) << " bytes";
  attachOperand(diagnostic, before);
  attachOperand(diagnostic, after);
  return diagnostic;
}

LogicalResult HazardReporter::reportSecondPacket() {
  InFlightDiagnostic diagnostic =
      getWorkItem(after)->emitOpError()
      << describe(after) << " writes " << describeBytes()
      << " of the packets, which " << describe(before)
      << " writes in the same iteration";
  attachOperand(diagnostic, before);
  attachOperand(diagnostic, after);
  return diagnostic;
}

LogicalResult checker::reportHazard(const Hazard &hazard,
                                    const CheckedSchedule &schedule,
                                    const BufferAccesses &buffer,
                                    const CellPartition &partition) {
  HazardReporter reporter(hazard, schedule, buffer, partition);
  switch (hazard.kind) {
  case HazardKind::ReadAfterWrite:
    return reporter.reportOrder("RAW");
  case HazardKind::WriteAfterRead:
    return reporter.reportOrder("WAR");
  case HazardKind::WriteAfterWrite:
    return reporter.reportOrder("WAW");
  case HazardKind::Overlap:
    return reporter.reportOverlap();
  case HazardKind::Unwritten:
    return reporter.reportUnwritten();
  case HazardKind::OtherWords:
    return reporter.reportWords();
  case HazardKind::SecondPacket:
    return reporter.reportSecondPacket();
  }
  llvm_unreachable("unknown kind of hazard");
}
