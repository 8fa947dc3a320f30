//===- CheckerPackets.h - Hand-offs by packets ------------------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERPACKETS_H
#define ARK_LIB_PROOF_CHECKERPACKETS_H

#include "lib/proof/CheckerLanes.h"

namespace mlir::ark::checker {

/// Checks that task packets are words of 32 or 64 bits, and checks the
/// semaphores of kind `packet`. A wait for such a semaphore polls packets
/// instead of a counter. Such a wait is equivalent to a wait for a counter if
/// each signal comes right after the work item that writes the polled packets,
/// and if no other task ever writes the bytes of these packets.
LogicalResult checkPackets(ScheduleOp schedule, const ProgramAccesses &program,
                           ArrayRef<Lane> lanes);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERPACKETS_H
