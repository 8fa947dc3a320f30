//===- Pipeline.cpp - Passes of the tiling stage --------------------------===//

#include "passes/tiling/Passes.h"
#include "passes/tiling/fusion/Passes.h"
#include "passes/tiling/selection/Passes.h"
#include "passes/tiling/tasks/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ark;

void ark::buildTilingPipeline(OpPassManager &pm) {
  OpPassManager &program = pm.nest<ProgramOp>();
  // Leaves groups whose tiles are to be selected.
  program.addPass(createLowerCustomPass());
  // Runs while the ark ops still show the cost of a group.
  program.addPass(createSelectTilesPass());
  program.addPass(createDecomposePass());
  // Merges equal conversions of one operand.
  program.addPass(createCSEPass());
  // Works on whole tensors, whose shapes are static.
  program.addPass(createFuseElementwisePass());
  program.addPass(createTileGroupsPass());
  // Works on tiles, which show the dependences between vCTAs.
  program.addPass(createFuseTasksPass());
  // Works on the bodies of fused tasks.
  program.addPass(createJoinElementwisePass());
  // Runs after fusion, which moves tasks.
  program.addPass(createOrderMicrobatchesPass());
  program.addPass(createVerifyTilingPass());
}
