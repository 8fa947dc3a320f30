//===- CheckerRaces.h - Order of all accesses to buffers --------*- C++ -*-===//
//
// Part of the proof: see ScheduleChecker.h.
//
//===----------------------------------------------------------------------===//

#ifndef ARK_LIB_PROOF_CHECKERRACES_H
#define ARK_LIB_PROOF_CHECKERRACES_H

#include "lib/proof/CheckerExecution.h"
#include "lib/proof/ScheduleChecker.h"

namespace mlir::ark::checker {

/// Proves that accesses which share bytes, at least one of which is a write,
/// happen in program order, and that every byte of the arena is written before
/// it is read. Fails with an error at the first access that violates this.
/// `items` gives the item that runs each vCTA. `execution` has run.
FailureOr<ScheduleProof> checkRaces(const ProgramAccesses &program,
                                    ArrayRef<Lane> lanes, ArrayRef<Item> items,
                                    const Execution &execution);

} // namespace mlir::ark::checker

#endif // ARK_LIB_PROOF_CHECKERRACES_H
