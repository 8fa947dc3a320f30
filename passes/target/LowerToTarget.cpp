//===- LowerToTarget.cpp - The lowering of the module's target ------------===//

#include "passes/target/Lowerings.h"
#include "passes/target/Passes.h"

#include "dialects/ark/ArkOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_LOWERTOTARGETPASS
#include "passes/target/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct LowerToTargetPass : ark::impl::LowerToTargetPassBase<LowerToTargetPass> {
  using LowerToTargetPassBase::LowerToTargetPassBase;

  void getDependentDialects(DialectRegistry &registry) const override {
    OpPassManager all(ModuleOp::getOperationName());
    buildCpuLowering(all, vectorLanes);
    buildCudaLowering(all, kWarpSize);
    all.getDependentDialects(registry);
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
      buildCudaLowering(lowering, target.getWarps() * kWarpSize);
      break;
    case Backend::HIP:
      getOperation().emitError("has the target hip: this version makes code "
                               "for cpu and cuda");
      return signalPassFailure();
    }
    if (failed(runPipeline(lowering, getOperation())))
      signalPassFailure();
  }
};
} // namespace
