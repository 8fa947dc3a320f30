//===- ScheduleChecker.h - The proof of a schedule --------------*- C++ -*-===//
//
// Shows that a synchronised schedule ends, computes what its program says, and
// can be repeated without a reset. docs/schedule.md gives the argument.
//
// The checker is independent of what makes schedules: regions, dependences,
// senders of packets and clocks are derived here a second time, in another way.
// The files of this folder include the dialect (accessors of ops, limits) and
// lib/support/BufferView (which bytes a memref names), and nothing else of ark;
// tests/host/test_proof_layers.py holds them to that.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_SCHEDULECHECKER_H
#define ARK_LIB_PROOF_SCHEDULECHECKER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

struct ScheduleProof {
  int64_t vctas = 0;
  /// Parts of buffers whose bytes all vCTAs treat alike, and visits to them.
  int64_t cells = 0, accesses = 0;
};

/// Fails with an error at the first operand or region that leaves its buffer,
/// item that cannot end, access that is not ordered, or lane that does not end
/// in the barrier between iterations. The schedule and its program must verify;
/// all tasks are on buffers.
FailureOr<ScheduleProof> checkSchedule(ScheduleOp schedule);

} // namespace mlir::ark

#endif // ARK_LIB_PROOF_SCHEDULECHECKER_H
