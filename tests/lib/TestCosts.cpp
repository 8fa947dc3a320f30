//===- TestCosts.cpp - Print what tasks cost and when items run -----------===//

#include "lib/analysis/Timeline.h"
#include "tests/lib/TestPasses.h"

#include "mlir/Pass/Pass.h"

#include <cmath>

using namespace mlir;
using namespace mlir::ark;

namespace {
struct TestPrintCostsPass
    : public PassWrapper<TestPrintCostsPass, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPrintCostsPass)

  StringRef getArgument() const final { return "ark-test-print-costs"; }
  StringRef getDescription() const final {
    return "Print the costs of tasks and hand-offs";
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    CostModel costs(getOperation(), /*sms=*/1);
    auto tasks = getOperation().getBody().getOps<TaskOp>();
    for (auto [index, task] : llvm::enumerate(tasks)) {
      const TaskCost &cost = costs.getTask(index);
      int64_t count = task.getNumVCTAs();
      llvm::outs() << task.getName() << ": reads " << cost.bytesRead
                   << " bytes, " << cost.weightBytes
                   << " of them weights, writes " << cost.bytesWritten << ", "
                   << cost.flops << " flops; first "
                   << std::llround(costs.getWorkItemNs(index, 0, 1))
                   << " ns, last "
                   << std::llround(costs.getWorkItemNs(index, count - 1, count))
                   << " ns, all " << std::llround(costs.getTaskNs(index))
                   << " ns\n";
      if (getOperation().getNumRanks() > 1)
        llvm::outs() << "  to other ranks: " << cost.remoteBytes
                     << " bytes; all on 4 SMs: "
                     << std::llround(costs.getWorkItemNs(index, 0, count, 4))
                     << " ns\n";
    }
    llvm::outs() << "hand-off of 1: " << std::llround(costs.getHandoffNs(1))
                 << " ns, of all: "
                 << std::llround(costs.getHandoffNs(costs.getTarget().getSms()))
                 << " ns, signal: " << std::llround(costs.getSignalNs())
                 << " ns\n";
  }
};

struct TestPrintTimelinePass
    : public PassWrapper<TestPrintTimelinePass, OperationPass<ProgramOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestPrintTimelinePass)

  StringRef getArgument() const final { return "ark-test-print-timeline"; }
  StringRef getDescription() const final {
    return "Print when every item of a synchronised schedule runs";
  }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    for (auto schedule : getOperation().getBody().getOps<ScheduleOp>()) {
      FailureOr<Timeline> timeline = computeTimeline(schedule);
      if (failed(timeline))
        return signalPassFailure();
      print(ExpandedSchedule(schedule), *timeline);
    }
  }

  static void print(const ExpandedSchedule &schedule,
                    const Timeline &timeline) {
    for (auto [lane, times] : llvm::zip(schedule.lanes, timeline.lanes)) {
      llvm::outs() << "SM " << lane.sm << '\n';
      for (auto [item, time] : llvm::zip(lane.items, times))
        llvm::outs() << "  " << item.op->getName() << " at "
                     << std::llround(time.start) << " for "
                     << std::llround(time.duration) << '\n';
    }
  }
};
} // namespace

void mlir::ark::registerTestCostPasses() {
  PassRegistration<TestPrintCostsPass>();
  PassRegistration<TestPrintTimelinePass>();
}
