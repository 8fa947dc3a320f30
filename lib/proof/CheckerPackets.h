//===- CheckerPackets.h - Hand-offs by packets ------------------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERPACKETS_H
#define ARK_LIB_PROOF_CHECKERPACKETS_H

#include "lib/proof/CheckerLanes.h"

namespace mlir::ark::checker {

/// A wait on a semaphore of kind `packet` looks at packets and not at a
/// counter. It means what any wait means where each signal comes right after
/// the run that puts the packets looked at, and nothing else ever writes where
/// they lie.
LogicalResult checkPackets(ScheduleOp schedule, const ProgramAccesses &program,
                           ArrayRef<Lane> lanes);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERPACKETS_H
