//===- Pipeline.cpp - Passes of the scheduling stage ----------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/scheduling/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void ark::buildSchedulingPipeline(OpPassManager &pm, StringRef scheduler) {
  // Placement and order come before synchronisation, which depends on the lane
  // of each vCTA.
  SchedulePassOptions options;
  if (!scheduler.empty())
    options.scheduler = scheduler.str();
  pm.addNestedPass<ProgramOp>(createSchedulePass(options));
  // The synchronisation stage relies on an order that the dependences allow,
  // even in a schedule written by hand.
  pm.addNestedPass<ProgramOp>(createVerifySchedulingPass());
}
