//===- Pipeline.cpp - The graph stage -------------------------------------===//

#include "passes/graph/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ark;

void ark::buildGraphPipeline(OpPassManager &pm) {
  OpPassManager &program = pm.nest<ProgramOp>();
  // What cannot run is said before anything changes the user's ops.
  program.addPass(createVerifyInputPass());
  // Folds and dead code first: patterns below look at uses.
  program.addPass(createCanonicalizerPass());
  program.addPass(createNormalizeGraphPass());
  // Views that normalisation composed are often equal.
  program.addPass(createCSEPass());
  // After CSE, which would merge the copies that this inserts.
  program.addPass(createIsolateResultsPass());
  program.addPass(createFormGroupsPass());
  program.addPass(createVerifyGraphPass());
}
