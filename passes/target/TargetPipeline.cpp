//===- TargetPipeline.cpp - The passes of the target stage ----------------===//

#include "passes/target/Passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;

void ark::buildTargetPipeline(OpPassManager &pm,
                              const TargetPipelineOptions &options) {
  pm.addPass(createLowerToTargetPass({options.vectorLanes}));
  pm.addPass(createVerifyTargetPass());
}
