//===- AssignTarget.cpp - Attach the target to a module -------------------===//

#include "dialects/ark/ArkDialect.h"
#include "lib/backend/TargetSpec.h"
#include "passes/pipelines/Passes.h"

#include "mlir/IR/BuiltinOps.h"

namespace mlir::ark {
#define GEN_PASS_DEF_ASSIGNTARGETPASS
#include "passes/pipelines/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct AssignTargetPass : ark::impl::AssignTargetPassBase<AssignTargetPass> {
  using AssignTargetPassBase::AssignTargetPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (target.empty() && module->hasAttr(ArkDialect::kTargetAttr))
      return;
    StringRef spec = target.empty() ? "cpu" : StringRef(target);
    FailureOr<TargetAttr> attr = parseTargetSpec(spec, module.getLoc());
    if (failed(attr))
      return signalPassFailure();
    module->setAttr(ArkDialect::kTargetAttr, *attr);
  }
};
} // namespace
