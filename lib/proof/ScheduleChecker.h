//===- ScheduleChecker.h - The proof of a schedule --------------*- C++ -*-===//
//
// Proves that a synchronised schedule ends, computes the result of its program,
// and can be repeated without a reset. docs/schedule.md gives the argument.
//
// The checker is independent of the code that makes schedules: it derives
// regions, dependences, senders of packets and clocks a second time, in another
// way. The files of this folder include the dialect (accessors of ops, limits)
// and lib/support/BufferView (the bytes that a memref names), and nothing else
// of ark; tests/host/test_proof_layers.py checks that.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_SCHEDULECHECKER_H
#define ARK_LIB_PROOF_SCHEDULECHECKER_H

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {

struct ScheduleProof {
  int64_t vctas = 0;
  /// The number of cells of all buffers, and the number of accesses to cells
  /// that were compared.
  int64_t cells = 0, accesses = 0;
};

/// Proves a schedule. Fails with an error at the first operand or region that
/// leaves its buffer, item that cannot end, access that is not ordered, or lane
/// that does not end in the barrier between iterations. Requires that the
/// schedule and its program are valid, and that all tasks are on buffers.
FailureOr<ScheduleProof> checkSchedule(ScheduleOp schedule);

} // namespace mlir::ark

#endif // ARK_LIB_PROOF_SCHEDULECHECKER_H
