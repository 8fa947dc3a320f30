//===- Pipeline.cpp - The tiling stage ------------------------------------===//

#include "passes/tiling/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ark;

void ark::buildTilingPipeline(OpPassManager &pm) {
  OpPassManager &program = pm.nest<ProgramOp>();
  // While the ark ops still say what a group costs.
  program.addPass(createSelectTilesPass());
  program.addPass(createDecomposePass());
  // Equal conversions of one operand become one.
  program.addPass(createCSEPass());
  // On whole tensors, whose shapes are static; tiles of fused ops are fused.
  program.addPass(createFuseElementwisePass());
  program.addPass(createTileGroupsPass());
  // On tiles, which say what a vCTA needs of another one.
  program.addPass(createFuseTasksPass());
  program.addPass(createVerifyTilingPass());
}
