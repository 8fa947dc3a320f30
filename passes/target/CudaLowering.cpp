//===- CudaLowering.cpp - From kernel to code of an NVIDIA GPU ------------===//

#include "passes/target/Lowerings.h"
#include "passes/target/Passes.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Dialect/Affine/Transforms/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ark::registerCudaLowering(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  registerConvertFuncToLLVMInterface(registry);
  registerConvertMathToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
}

/// Bodies become loops over scalars that the threads of a CTA share.
static void addLoops(OpPassManager &pm, int64_t threads) {
  // The sums of a contraction have flags to set only once it is a generic.
  pm.addNestedPass<func::FuncOp>(createLinalgGeneralizeNamedOpsPass());
  pm.addNestedPass<func::FuncOp>(ark::createRelaxReductionsPass());
  pm.addPass(ark::createHoistInvariantsPass());
  pm.addPass(ark::createFlashAttentionPass({threads}));
  pm.addPass(ark::createUseTensorCoresPass({threads}));
  pm.addPass(ark::createStreamParametersPass());
  // What is streamed has made its row by itself.
  pm.addPass(ark::createWarpRowsPass({threads}));
  pm.addPass(ark::createBodiesToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToParallelLoopsPass());
  pm.addPass(ark::createMergeVctasPass());
  pm.addPass(ark::createSplitReductionsPass({threads}));
  pm.addPass(ark::createJamResultsPass());
  pm.addPass(ark::createMapToThreadsPass({threads}));
  pm.addPass(ark::createPlaceInSharedMemoryPass());
  ark::CacheTablesPassOptions cache;
  cache.threads = threads;
  pm.addPass(ark::createCacheTablesPass(cache));
  OpPassManager &functions = pm.nest<func::FuncOp>();
  functions.addPass(ark::createExpandFloatsPass({/*halves=*/false}));
  functions.addPass(ark::createExpandMathPass({/*fma=*/true}));
  functions.addPass(arith::createArithExpandOpsPass());
  functions.addPass(createCanonicalizerPass());
  functions.addPass(createCSEPass());
}

void ark::buildCudaLowering(OpPassManager &pm, int64_t threads) {
  addLoops(pm, threads);
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(affine::createAffineExpandIndexOpsPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createBuildGpuModulePass({threads}));
  OpPassManager &gpuModule = pm.nest<gpu::GPUModuleOp>();
  // Operands have static layouts, so that a body takes bare pointers.
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  gpuModule.addPass(createConvertGpuOpsToNVVMOps(options));
  // Of warpgroups' products, which have no intrinsics.
  gpuModule.addPass(createConvertNVVMToLLVMPass());
  gpuModule.addPass(createReconcileUnrealizedCastsPass());
  gpuModule.addPass(createCanonicalizerPass());
  gpuModule.addPass(createCSEPass());
}
