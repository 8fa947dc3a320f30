//===- ScheduleChecker.h - The proof of a schedule --------------*- C++ -*-===//
//
// Shows that a synchronised schedule ends, computes what its program says, and
// can be repeated without a reset. The checker shares no code with what makes
// schedules: dependences, clocks and regions are computed here a second time,
// in another way. docs/schedule.md gives the argument.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_ANALYSIS_SCHEDULECHECKER_H
#define ARK_LIB_ANALYSIS_SCHEDULECHECKER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

struct ScheduleProof {
  int64_t vctas = 0;
  /// Parts of buffers whose bytes all vCTAs treat alike, and visits to them.
  int64_t cells = 0, accesses = 0;
};

/// Fails with an error at the first item that cannot end, access that is not
/// ordered, or lane that does not end in the barrier between iterations. The
/// schedule must verify.
FailureOr<ScheduleProof> checkSchedule(ScheduleOp schedule);

} // namespace mlir::ark

#endif // ARK_LIB_ANALYSIS_SCHEDULECHECKER_H
