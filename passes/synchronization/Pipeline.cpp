//===- Pipeline.cpp - The synchronization stage ---------------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/synchronization/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void ark::buildSynchronizationPipeline(OpPassManager &pm) {
  // Which lane waits for which follows from where and in which order vCTAs run.
  pm.addNestedPass<ProgramOp>(createInsertSynchronizationPass());
  // Never optional: a wrong schedule hangs a machine or gives wrong numbers.
  pm.addNestedPass<ProgramOp>(createVerifySynchronizationPass());
}
