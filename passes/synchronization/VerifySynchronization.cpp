//===- VerifySynchronization.cpp - Prove a schedule -----------------------===//

#include "lib/proof/ScheduleChecker.h"
#include "passes/synchronization/Passes.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYSYNCHRONIZATIONPASS
#include "passes/synchronization/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct VerifySynchronizationPass
    : ark::impl::VerifySynchronizationPassBase<VerifySynchronizationPass> {
  void runOnOperation() override {
    markAllAnalysesPreserved();
    auto schedules = getOperation().getBody().getOps<ScheduleOp>();
    if (schedules.empty()) {
      getOperation().emitOpError("has no schedule");
      return signalPassFailure();
    }
    FailureOr<ScheduleProof> proof = checkSchedule(*schedules.begin());
    if (failed(proof))
      return signalPassFailure();
    numVCTAs += proof->vctas;
    numCells += proof->cells;
    numAccesses += proof->accesses;
  }
};
} // namespace
