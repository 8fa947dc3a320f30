//===- VerifyTasks.cpp - Check the tasks on buffers -----------------------===//

#include "passes/memory/verify/OutputChecker.h"
#include "passes/memory/verify/Passes.h"
#include "passes/memory/verify/TaskChecker.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYTASKSPASS
#include "passes/memory/verify/Passes.h.inc"
} // namespace mlir::ark

using namespace mlir;
using namespace mlir::ark;

namespace {
struct VerifyTasksPass
    : public ark::impl::VerifyTasksPassBase<VerifyTasksPass> {
  using VerifyTasksPassBase::VerifyTasksPassBase;

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto task : getOperation().getBody().getOps<TaskOp>())
      if (failed(checkTask(task)))
        return signalPassFailure();
    if (failed(checkOutputs(getOperation())))
      signalPassFailure();
  }
};
} // namespace
