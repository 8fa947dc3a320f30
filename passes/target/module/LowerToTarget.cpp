//===- LowerToTarget.cpp - Runs the lowering of the target ----------------===//

#include "passes/target/module/Passes.h"

#include "dialects/ark/ArkOps.h"
#include "lib/backend/Backend.h"

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
    for (const Backend *backend : getBackends())
      backend->registerLowering(registry);
  }

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<const Backend *> backend = findBackend(module);
    OpPassManager lowering(ModuleOp::getOperationName());
    if (failed(backend) ||
        failed((*backend)->buildLowering(
            lowering,
            module->getAttrOfType<TargetAttr>(ArkDialect::kTargetAttr),
            {vectorElements}, [&] { return module.emitError(); })) ||
        failed(runPipeline(lowering, module)))
      signalPassFailure();
  }
};
} // namespace
