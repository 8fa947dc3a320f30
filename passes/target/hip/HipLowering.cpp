//===- HipLowering.cpp - Lowering for AMD GPUs ----------------------------===//

#include "passes/target/hip/HipLowering.h"

#include "passes/target/attention/Passes.h"
#include "passes/target/matmul/Passes.h"
#include "passes/target/module/GpuLowering.h"
#include "passes/target/module/Passes.h"
#include "passes/target/packets/Passes.h"
#include "passes/target/prefetch/Passes.h"
#include "passes/target/simt/Passes.h"

#include "mlir/Conversion/GPUToROCDL/GPUToROCDLPass.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ark::buildHipLowering(OpPassManager &pm, StringRef arch, int64_t threads,
                           int64_t warpSize) {
  pm.addPass(createAllocateVoteSlotsPass());
  auto addVendorPasses = [threads](OpPassManager &pm) {
    pm.addPass(createFlashAttentionPass({threads}));
    pm.addPass(createUseTensorCoresPass({threads}));
    pm.addPass(createReceivePacketsPass({threads}));
  };
  auto addThreadPasses = [](OpPassManager &pm) {
    pm.addPass(createLoadWeightsAheadPass());
  };
  addGpuLowering(pm, {threads, warpSize, /*library=*/false,
                      /*roundsToBF16=*/true, /*hasFp8Conversions=*/false,
                      addVendorPasses, addThreadPasses});
  OpPassManager &gpuModule = pm.nest<gpu::GPUModuleOp>();
  // Erases the functions of features that the program does not use, such as
  // packets. They call functions without code.
  gpuModule.addPass(createSymbolDCEPass());
  gpuModule.addPass(createHideThreadIdsPass({threads}));
  // Runs first, because GPUToROCDL replaces functions that have an instruction
  // by calls of AMD's device library.
  gpuModule.addPass(createConvertMathToLLVMPass());
  ConvertGpuOpsToROCDLOpsOptions options;
  options.chipset = arch.str();
  // Operands have static layouts, so that bodies take bare pointers.
  options.useBarePtrCallConv = true;
  gpuModule.addPass(createConvertGpuOpsToROCDLOps(options));
  gpuModule.addPass(createReconcileUnrealizedCastsPass());
  gpuModule.addPass(createWidenBooleansPass());
  gpuModule.addPass(createCanonicalizerPass());
  gpuModule.addPass(createCSEPass());
}
