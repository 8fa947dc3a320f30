//===- GpuLowering.cpp - Common lowering for GPUs -------------------------===//

#include "passes/target/module/GpuLowering.h"
#include "passes/target/attention/Passes.h"
#include "passes/target/math/Passes.h"
#include "passes/target/module/Passes.h"
#include "passes/target/packets/Passes.h"
#include "passes/target/rowwise/Passes.h"
#include "passes/target/simt/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ark::registerGpuLowering(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
}

/// Adds the passes that lower bodies to loops over scalars, divided among the
/// threads of a CTA.
static void addLoops(OpPassManager &pm,
                     const ark::GpuLoweringOptions &options) {
  int64_t threads = options.threads, warpSize = options.warpSize;
  pm.addPass(ark::createExpandNormsPass());
  pm.addPass(ark::createExpandAttentionPass({threads}));
  pm.addPass(ark::createFlashAttentionGradientsPass({threads}));
  pm.addPass(ark::createExpandAttentionGradientsPass());
  // Contractions become generics first, because RelaxReductions sets flags only
  // on the sums of generics.
  pm.addNestedPass<func::FuncOp>(createLinalgGeneralizeNamedOpsPass());
  pm.addNestedPass<func::FuncOp>(ark::createRelaxReductionsPass());
  pm.addPass(ark::createHoistInvariantsPass());
  if (options.addVendorPasses)
    options.addVendorPasses(pm);
  pm.addPass(ark::createFuseElementOpsPass({threads}));
  pm.addPass(ark::createBodiesToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToParallelLoopsPass());
  pm.addPass(ark::createMergeVctasPass({warpSize}));
  pm.addPass(ark::createSplitReductionsPass({threads, warpSize}));
  pm.addPass(ark::createUnrollAndJamPass());
  pm.addPass(ark::createWidenElementsPass({threads}));
  pm.addPass(ark::createMapToThreadsPass({threads, warpSize}));
  if (options.addThreadPasses)
    options.addThreadPasses(pm);
  pm.addPass(ark::createSendPacketsPass());
  pm.addPass(ark::createPlaceInSharedMemoryPass());
  ark::CacheTablesPassOptions cache;
  cache.threads = threads;
  pm.addPass(ark::createCacheTablesPass(cache));
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(ark::createGuardStoresPass());
  functions.addPass(ark::createExpandFloatsPass(
      {/*expandFp16=*/false, /*expandBf16Rounding=*/!options.roundsToBF16,
       options.hasFp8Conversions}));
  functions.addPass(ark::createExpandMathPass({/*fma=*/true, options.library,
                                               /*exp2=*/options.library,
                                               /*maximum=*/options.library}));
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

void ark::addGpuLowering(OpPassManager &pm, const GpuLoweringOptions &options) {
  addLoops(pm, options);
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(affine::createAffineExpandIndexOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createBuildGpuModulePass({options.threads}));
}
