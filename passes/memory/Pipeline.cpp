//===- Pipeline.cpp - The memory stage ------------------------------------===//

#include "passes/memory/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ark;

void mlir::ark::buildMemoryPipeline(OpPassManager &pm,
                                    const MemoryPipelineOptions &options) {
  OpPassManager &program = pm.nest<ProgramOp>();
  // Tensors can still be copied where a view has no strides; buffers cannot.
  program.addPass(createResolveViewsPass());
  // Between tasks first: that fixes the strides of the tiles inside.
  program.addPass(createBufferizeProgramPass());

  // Tasks know nothing of each other, so that this runs on all of them at once.
  OpPassManager &task = program.nest<TaskOp>();
  task.addPass(createBufferizeBodiesPass());
  // Copies of a buffer onto itself, written to make sure that a value is where
  // it is wanted, are recognised once equal subviews are one.
  task.addPass(createCSEPass());
  task.addPass(createCanonicalizerPass());
  // Index arithmetic of ragged tiles; what comes later computes with arith. Not
  // on tasks: a dialect conversion sets the operands of the op that it runs on,
  // even if to what they were, and tasks at once would race on their use lists.
  program.addPass(createLowerAffinePass());
  if (options.packets)
    program.addPass(createHandOverPacketsPass());
  // Last in the body: folded-away temporaries need no bytes.
  program.nest<TaskOp>().addPass(createPlaceTemporariesPass());

  // Needs the order of tasks and what they touch, nothing of their bodies.
  program.addPass(createPlanArenaPass());
  program.addPass(createVerifyMemoryPass());
}
