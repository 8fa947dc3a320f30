//===- Pipeline.cpp - The synchronization stage ---------------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/synchronization/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void ark::buildSynchronizationPipeline(OpPassManager &pm, bool verify) {
  // Which lane waits for which follows from where and in which order vCTAs run.
  pm.addNestedPass<ProgramOp>(createInsertSynchronizationPass());
  // A wrong schedule hangs a machine or gives wrong numbers. Whoever leaves the
  // proof out is warned, and the bundle records it.
  if (verify)
    pm.addNestedPass<ProgramOp>(createVerifySynchronizationPass());
}
