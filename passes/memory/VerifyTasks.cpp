//===- VerifyTasks.cpp - Check the tasks on buffers -----------------------===//

#include "passes/memory/OutputChecker.h"
#include "passes/memory/Passes.h"
#include "passes/memory/TaskChecker.h"

namespace mlir::ark {
#define GEN_PASS_DEF_VERIFYTASKSPASS
#include "passes/memory/Passes.h.inc"
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
