//===- Pipeline.cpp - The graph stage -------------------------------------===//

#include "passes/graph/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ark;

void ark::buildGraphPipeline(OpPassManager &pm, StringRef collectives) {
  // First, for errors to have the names.
  pm.addNestedPass<ProgramOp>(createNameLocationsPass());
  // What cannot run is said before anything changes the user's ops.
  pm.addNestedPass<ProgramOp>(createVerifyInputPass());
  pm.addPass(createVerifyRanksPass());
  OpPassManager &program = pm.nest<ProgramOp>();
  ExpandCollectivesPassOptions options;
  if (!collectives.empty())
    options.algorithm = collectives.str();
  program.addPass(createExpandCollectivesPass(options));
  // Folds and dead code first: patterns below look at uses.
  program.addPass(createCanonicalizerPass());
  program.addPass(createNormalizeGraphPass());
  // Views that normalisation composed are often equal.
  program.addPass(createCSEPass());
  // When views have their final form, and before ops are grouped.
  program.addPass(createSplitArgmaxPass());
  program.addPass(createSplitAttentionPass());
  // After CSE, which would merge the copies that this inserts.
  program.addPass(createIsolateResultsPass());
  program.addPass(createFormGroupsPass());
  // Groups are formed rank by rank: none may hold ops of two.
  pm.addPass(createJoinRanksPass());
  pm.addNestedPass<ProgramOp>(createVerifyGraphPass());
}
