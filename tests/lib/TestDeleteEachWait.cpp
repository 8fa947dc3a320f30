//===- TestDeleteEachWait.cpp - Is every wait needed? ---------------------===//

#include "lib/proof/ScheduleChecker.h"
#include "tests/lib/TestPasses.h"

#include "mlir/Pass/Pass.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
/// The proof must reject the schedule after the deletion of any one wait. If a
/// wait can be deleted, synchronisation was not minimal, or the proof misses a
/// hazard.
struct TestDeleteEachWaitPass
    : public PassWrapper<TestDeleteEachWaitPass, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestDeleteEachWaitPass)

  StringRef getArgument() const final { return "ark-test-delete-each-wait"; }
  StringRef getDescription() const final {
    return "Check that the proof rejects a schedule that lacks any one wait";
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto schedule : getOperation().getBody().getOps<ScheduleOp>()) {
      if (failed(checkSchedule(schedule)))
        return signalPassFailure();
      SmallVector<WaitOp> waits;
      schedule.walk([&](WaitOp wait) { waits.push_back(wait); });
      for (WaitOp wait : waits)
        if (isAcceptedWithout(wait, schedule)) {
          wait.emitOpError("can be deleted");
          signalPassFailure();
        }
      llvm::outs() << "@" << getOperation().getSymName() << ": " << waits.size()
                   << " deletions tried\n";
    }
  }

  bool isAcceptedWithout(WaitOp wait, ScheduleOp schedule) {
    Block *block = wait->getBlock();
    auto next = std::next(wait->getIterator());
    wait->remove();
    bool accepted;
    {
      // The rejection is expected, so its text is not shown.
      ScopedDiagnosticHandler quiet(&getContext(),
                                    [](Diagnostic &) { return success(); });
      accepted = succeeded(checkSchedule(schedule));
    }
    block->getOperations().insert(next, wait);
    return accepted;
  }
};
} // namespace

void mlir::ark::registerTestDeleteEachWaitPass() {
  PassRegistration<TestDeleteEachWaitPass>();
}
