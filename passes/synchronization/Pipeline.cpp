//===- Pipeline.cpp - Passes of the stage ---------------------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/synchronization/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void ark::buildSynchronizationPipeline(OpPassManager &pm, bool verify) {
  // Synchronisation follows from the placement and the order of vCTAs.
  pm.addNestedPass<ProgramOp>(createInsertSynchronizationPass());
  // A wrong schedule hangs a machine or produces wrong numbers. Users who
  // disable the proof get a warning, and the bundle records it.
  if (verify)
    pm.addNestedPass<ProgramOp>(createVerifySynchronizationPass());
}
