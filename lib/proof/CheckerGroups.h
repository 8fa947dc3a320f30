//===- CheckerGroups.h - Accesses to compare vCTA by vCTA -------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERGROUPS_H
#define ARK_LIB_PROOF_CHECKERGROUPS_H

#include "lib/proof/CheckerOrder.h"

namespace mlir::ark::checker {

/// Accesses that have to be compared vCTA by vCTA.
struct AccessGroup {
  BufferAccesses buffer;
  /// For every access: true if all bytes that it reads have a value without the
  /// writes of the group: an earlier task writes these bytes, the buffer has
  /// values when an iteration begins, or the access reads no bytes.
  std::vector<bool> isWrittenBefore;
};

/// Divides accesses of a buffer into groups, in two steps that compare whole
/// tasks:
///
/// - Two accesses conflict if they share bytes and one of them is a write. They
///   are in one group unless one task ends before the other begins. So accesses
///   of different groups have no hazard.
/// - With `mustBeWritten`, the buffer has no values when an iteration begins.
///   An access that reads is then in a group with all earlier writes that share
///   bytes with it, unless one earlier task writes all bytes of the operand.
///
/// Leaves out groups that need no comparison, such as groups of
/// reads.
std::vector<AccessGroup> divideByTasks(const BufferAccesses &buffer,
                                       const TaskOrder &order,
                                       ArrayRef<TaskOp> tasks,
                                       bool mustBeWritten);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERGROUPS_H
