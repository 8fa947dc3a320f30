//===- Pipeline.cpp - The scheduling stage --------------------------------===//

#include "dialects/ark/ArkOps.h"
#include "passes/scheduling/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void ark::buildSchedulingPipeline(OpPassManager &pm, StringRef scheduler) {
  // Placement and order come before synchronisation: what must wait for what
  // depends on who runs where.
  SchedulePassOptions options;
  if (!scheduler.empty())
    options.scheduler = scheduler.str();
  pm.addNestedPass<ProgramOp>(createSchedulePass(options));
  // The synchronisation stage relies on an order that dependences allow, also
  // where the schedule was written by hand.
  pm.addNestedPass<ProgramOp>(createVerifySchedulingPass());
}
