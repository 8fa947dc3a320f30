//===- CudaLowering.cpp - Lowering for NVIDIA GPUs ------------------------===//

#include "passes/target/cuda/CudaLowering.h"

#include "passes/target/attention/Passes.h"
#include "passes/target/matmul/Passes.h"
#include "passes/target/module/GpuLowering.h"
#include "passes/target/module/Passes.h"
#include "passes/target/packets/Passes.h"
#include "passes/target/prefetch/Passes.h"
#include "passes/target/rowwise/Passes.h"
#include "passes/target/tensor_maps/Passes.h"
#include "passes/target/weight_streaming/Passes.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

void ark::buildCudaLowering(OpPassManager &pm, int64_t threads,
                            int64_t warpSize, bool hasFp8Conversions) {
  auto addVendorPasses = [threads, warpSize](OpPassManager &pm) {
    StageKVCachePassOptions staging;
    staging.threads = threads;
    pm.addPass(createStageKVCachePass(staging));
    pm.addPass(createPrefetchKVCachePass({threads}));
    // Runs before FlashAttention, which removes the loop over a single vCTA
    // only if no reduction is left beside the attention.
    pm.addPass(createFuseRowOpsPass({threads, warpSize}));
    pm.addPass(createFuseRowBodiesPass({threads, warpSize}));
    pm.addPass(createFlashAttentionPass({threads}));
    pm.addPass(createUseTensorCoresPass({threads}));
    pm.addPass(createPrefetchWeightsPass({threads}));
    // Runs before ReceivePackets, because it lets threads receive the packets
    // of their own rows.
    pm.addPass(createFuseRowProloguesPass({threads, warpSize}));
    pm.addPass(createReceivePacketsPass({threads}));
    pm.addPass(createStreamWeightsPass());
    pm.addPass(createBuildTensorMapsPass({threads}));
  };
  addGpuLowering(pm,
                 {threads, warpSize, /*library=*/true,
                  /*roundsToBF16=*/true, hasFp8Conversions, addVendorPasses});
  OpPassManager &gpuModule = pm.nest<gpu::GPUModuleOp>();
  // Operands have static layouts, so that bodies take bare pointers.
  ConvertGpuOpsToNVVMOpsOptions options;
  options.useBarePtrCallConv = true;
  gpuModule.addPass(createConvertGpuOpsToNVVMOps(options));
  // Lowers `wgmma`, which has no intrinsics.
  gpuModule.addPass(createConvertNVVMToLLVMPass());
  gpuModule.addPass(createReconcileUnrealizedCastsPass());
  gpuModule.addPass(createWidenBooleansPass());
  gpuModule.addPass(createCanonicalizerPass());
  gpuModule.addPass(createCSEPass());
  gpuModule.addPass(createReloadOperandsPass());
}
