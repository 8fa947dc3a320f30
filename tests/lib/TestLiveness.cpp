//===- TestLiveness.cpp - Print which intermediates may share bytes -------===//

#include "lib/analysis/Liveness.h"
#include "tests/lib/TestPasses.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
struct TestLivenessPass
    : public PassWrapper<TestLivenessPass, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestLivenessPass)

  StringRef getArgument() const final { return "ark-test-liveness"; }
  StringRef getDescription() const final {
    return "Print the order of tasks and which intermediates may share bytes";
  }

  void runOnOperation() override {
    FailureOr<Liveness> liveness = Liveness::compute(getOperation());
    if (failed(liveness))
      return signalPassFailure();
    printTasks(*liveness);
    printIntermediates(*liveness);
    llvm::outs() << "largest live set: " << liveness->getLargestLiveSet()
                 << '\n';
  }

  static void printTasks(const Liveness &liveness) {
    ArrayRef<TaskOp> tasks = liveness.getTasks();
    for (unsigned later = 0; later < tasks.size(); ++later) {
      llvm::outs() << TaskOp(tasks[later]).getName() << " after";
      for (unsigned earlier = 0; earlier < later; ++earlier)
        if (liveness.precedes(earlier, later))
          llvm::outs() << ' ' << TaskOp(tasks[earlier]).getName();
      llvm::outs() << '\n';
    }
  }

  static void printIntermediates(const Liveness &liveness) {
    ArrayRef<Intermediate> intermediates = liveness.getIntermediates();
    for (auto [index, intermediate] : llvm::enumerate(intermediates)) {
      llvm::outs() << "intermediate " << index << ": " << intermediate.bytes
                   << " bytes in";
      for (unsigned task : intermediate.tasks)
        llvm::outs() << ' ' << TaskOp(liveness.getTasks()[task]).getName();
      llvm::outs() << (intermediate.writtenFirst ? "" : ", read first")
                   << ", may share with";
      for (unsigned other = 0; other < intermediates.size(); ++other)
        if (other != index && liveness.mayShare(index, other))
          llvm::outs() << ' ' << other;
      llvm::outs() << '\n';
    }
  }
};
} // namespace

void mlir::ark::registerTestLivenessPass() {
  PassRegistration<TestLivenessPass>();
}
