//===- LowerToTarget.cpp - Runs the lowering of the target ----------------===//

#include "passes/kernel/KernelAbi.h"
#include "passes/target/module/GpuLowering.h"
#include "passes/target/module/Lowerings.h"
#include "passes/target/module/Passes.h"
#include "passes/target/support/Warp.h"

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_LOWERTOTARGETPASS
#include "passes/target/module/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

/// Threads per warp of the supported AMD GPUs.
static constexpr int64_t kWavefrontSize = abi::kHipWarpSize;

namespace {
struct LowerToTargetPass : ark::impl::LowerToTargetPassBase<LowerToTargetPass> {
  using LowerToTargetPassBase::LowerToTargetPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager all(ModuleOp::getOperationName());
    buildCpuLowering(all, vectorElements);
    buildCudaLowering(all, kWarpSize, /*hasFp8Conversions=*/true);
    buildHipLowering(all, /*arch=*/"", /*threads=*/kWavefrontSize,
                     kWavefrontSize);
    all.getDependentDialects(registry);
    registerGpuLowering(registry);
    registerCudaLowering(registry);
  }

  void runOnOperation() override {
    auto target =
        getOperation()->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr);
    OpPassManager lowering(ModuleOp::getOperationName());
    switch (target ? target.getBackend() : Backend::CPU) {
    case Backend::CPU:
      buildCpuLowering(lowering, vectorElements);
      break;
    case Backend::CUDA:
      if (failed(verifyWarpSize(target, kWarpSize)))
        return signalPassFailure();
      buildCudaLowering(lowering, target.getWarps() * target.getWarpSize(),
                        target.getGpu().getFp8());
      break;
    case Backend::HIP:
      if (failed(verifyWarpSize(target, kWavefrontSize)))
        return signalPassFailure();
      buildHipLowering(lowering, target.getArch(),
                       target.getWarps() * target.getWarpSize(),
                       target.getWarpSize());
      break;
    }
    if (failed(runPipeline(lowering, getOperation())))
      signalPassFailure();
  }

private:
  /// Fails unless warps have as many threads as the backend's kernel texts
  /// require.
  LogicalResult verifyWarpSize(TargetAttr target, int64_t required) {
    if (target.getWarpSize() == required)
      return success();
    return getOperation().emitError("has warps of ")
           << target.getWarpSize() << " threads; kernels for "
           << stringifyBackend(target.getBackend()) << " need " << required;
  }
};
} // namespace
