//===- KernelPipeline.cpp - Passes of the kernel stage --------------------===//

#include "passes/kernel/Passes.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ark::buildKernelPipeline(OpPassManager &pm,
                              const KernelPipelineOptions &options) {
  pm.addPass(createOutlineBodiesPass());
  // Runs before any pass that could make equal bodies differ.
  pm.addPass(createDeduplicateBodiesPass());
  pm.addPass(createBuildTablesPass());
  pm.addPass(createBuildKernelPass({options.trace}));
  pm.addPass(createLowerCheckIndexPass());
  pm.addPass(createLowerEpochPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addPass(createVerifyKernelPass());
}
