//===- CheckerNetwork.h - Rules of copies between domains -------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERNETWORK_H
#define ARK_LIB_PROOF_CHECKERNETWORK_H

#include "lib/proof/CheckerExecution.h"

namespace mlir::ark::checker {

/// Checks the rules for ranks of several NVLink domains. An SM cannot store to
/// memory of another domain. If a vCTA writes such memory, a network adapter
/// executes the copy, while the lane continues. A signal of the lane to the
/// receiver arrives after the bytes of all earlier copies. No other signal
/// shows that a copy has ended.
///
/// - (network_c1) a task that writes memory of another domain has one vCTA,
///   which copies a contiguous buffer in its own rank's part of the arena to a
///   contiguous buffer in the arena.
/// - (network_c2) a lane that copies to a rank of another domain runs nothing
///   but copies to this rank.
/// - (network_c3) only lanes of this rank wait for the signals of the lane. The
///   lane passes no barrier but the last one.
/// - (network_c4) at the end of an iteration, a lane of the receiver knows that
///   a copy has ended.
/// - (network_c5) the copies of a lane write different bytes, since they may
///   arrive in any order.
///
/// `execution` has run. Every lane ends with the barrier of all lanes.
LogicalResult checkNetwork(ScheduleOp schedule, const ProgramAccesses &program,
                           ArrayRef<Lane> lanes, ArrayRef<Item> positions,
                           const Execution &execution);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERNETWORK_H
