//===- CheckerRanks.h - Rules of sharing between ranks ----------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERRANKS_H
#define ARK_LIB_PROOF_CHECKERRANKS_H

#include "lib/proof/CheckerLanes.h"

namespace mlir::ark::checker {

/// Checks the rules for programs of several ranks. Each rank may have a
/// separate GPU, so ranks share no more than these rules allow:
///
/// - (sharing_c1) ranks have equal shares of the SMs, the arena and the
///   packets.
/// - (sharing_c2) a semaphore with items on several ranks has the kind
///   `barrier` if lanes meet at it, and the kind `peer` or `packet` if not.
/// - (sharing_c3) if lanes of several ranks meet at a semaphore, no lane has a
///   signal or a wait of this semaphore.
/// - (sharing_c4) a vCTA reads its own rank's parts of the arena and the
///   packets.
/// - (sharing_c5) a vCTA accesses no argument of another rank, except
///   constants.
LogicalResult checkRanks(ScheduleOp schedule, const ProgramAccesses &program,
                         ArrayRef<Lane> lanes, ArrayRef<Item> positions);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERRANKS_H
