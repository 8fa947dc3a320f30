//===- LowerToTarget.cpp - Runs the lowering of the target ----------------===//

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

namespace {
struct LowerToTargetPass : ark::impl::LowerToTargetPassBase<LowerToTargetPass> {
  using LowerToTargetPassBase::LowerToTargetPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager all(ModuleOp::getOperationName());
    buildCpuLowering(all, vectorLanes);
    buildCudaLowering(all, /*arch=*/"sm_90a", kWarpSize);
    buildHipLowering(all, /*arch=*/"gfx942", /*threads=*/64, /*warpSize=*/64);
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
      buildCpuLowering(lowering, vectorLanes);
      break;
    case Backend::CUDA:
      buildCudaLowering(lowering, target.getArch(),
                        target.getWarps() * target.getWarpSize());
      break;
    case Backend::HIP:
      // The kernel's text assumes warps of 64 threads, and the wait counters
      // of gfx9.
      if (!target.getArch().starts_with("gfx9")) {
        getOperation().emitError("has the architecture '")
            << target.getArch() << "'; kernels for hip are made for gfx9";
        return signalPassFailure();
      }
      buildHipLowering(lowering, target.getArch(),
                       target.getWarps() * target.getWarpSize(),
                       target.getWarpSize());
      break;
    }
    if (failed(runPipeline(lowering, getOperation())))
      signalPassFailure();
  }
};
} // namespace
