//===- Pipeline.cpp - Passes of the graph stage ---------------------------===//

#include "passes/graph/Passes.h"
#include "passes/graph/collectives/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace mlir::ark;

void ark::buildGraphPipeline(OpPassManager &pm, StringRef collectives) {
  // Runs first, so that errors contain the names.
  pm.addNestedPass<ProgramOp>(createNameLocationsPass());
  // Reports unsupported programs before any pass changes the user's ops.
  pm.addNestedPass<ProgramOp>(createVerifyInputPass());
  pm.addPass(createVerifyRanksPass());
  OpPassManager &program = pm.nest<ProgramOp>();
  ExpandCollectivesPassOptions options;
  if (!collectives.empty())
    options.algorithm = collectives.str();
  program.addPass(createExpandCollectivesPass(options));
  // Runs before the passes that simplify products.
  program.addPass(createMultiplyAttentionGradientsPass());
  // Folds and removes dead code first, because the patterns below examine uses.
  program.addPass(createCanonicalizerPass());
  // Runs before reshapes sink: the epilogue reads the shape of a convolution.
  program.addPass(createFormConvolutionsPass());
  program.addPass(createNormalizeGraphPass());
  // Composed views are often equal.
  program.addPass(createCSEPass());
  // Runs when views have their final form, and before ops are grouped.
  program.addPass(createSplitArgmaxPass());
  program.addPass(createSplitAttentionPass());
  program.addPass(createSplitProductsPass());
  // Runs after the split: parts of the depth have other extents.
  program.addPass(createPadProductsPass());
  program.addPass(createExpandSegmentOpsPass());
  // Runs after CSE, which would merge the inserted copies.
  program.addPass(createIsolateResultsPass());
  // Runs after CSE, too, and before the copies of sums join groups.
  program.addPass(createRecomputeSumsPass());
  program.addPass(createFormGroupsPass());
  // Runs after grouping: no group may contain ops of two ranks.
  pm.addPass(createJoinRanksPass());
  pm.addNestedPass<ProgramOp>(createVerifyGraphPass());
}
