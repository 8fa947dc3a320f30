//===- Pipeline.cpp - Passes of the memory stage --------------------------===//

#include "passes/memory/Passes.h"
#include "passes/memory/bufferize/Passes.h"
#include "passes/memory/packets/Passes.h"
#include "passes/memory/placement/Passes.h"
#include "passes/memory/verify/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ark;

void mlir::ark::buildMemoryPipeline(OpPassManager &pm,
                                    const MemoryPipelineOptions &options) {
  OpPassManager &program = pm.nest<ProgramOp>();
  // Runs first: a tensor without strides can be copied, a buffer cannot.
  program.addPass(createResolveViewsPass());
  // Runs before the bodies: the buffers between tasks fix the strides of the
  // tiles.
  program.addPass(createBufferizeProgramPass());

  // Tasks are independent of each other here, so the nested passes run on all
  // of them concurrently.
  OpPassManager &task = program.nest<TaskOp>();
  task.addPass(createBufferizeBodiesPass());
  // Bufferization inserts a copy of a value to its destination even if both are
  // the same memory. CSE makes one value of equal subviews, after which
  // canonicalization removes such copies.
  task.addPass(createCSEPass());
  task.addPass(createCanonicalizerPass());
  // Lowers the index arithmetic of clipped tiles; later passes compute with
  // arith. Does not run per task: a dialect conversion sets the operands of its
  // root op, even if they do not change, and concurrent tasks would race on the
  // use lists of these operands.
  program.addPass(createLowerAffinePass());
  if (options.packets)
    program.addPass(createHandOffPacketsPass());
  // Packets are not buffers of the arena, so they are formed first.
  program.addPass(createElideConcatsPass());
  // Runs last on bodies, so that temporaries that were folded away take no
  // bytes.
  program.nest<TaskOp>().addPass(createPlaceTemporariesPass());

  // Need the order of tasks and their operands, not their bodies.
  program.addPass(createOrderForMemoryPass({options.memory}));
  program.addPass(createPlanArenaPass({options.memory}));
  program.addPass(createVerifyMemoryPass());
}
