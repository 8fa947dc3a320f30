//===- Profile.cpp - List scheduling by measured times --------------------===//
//
// The list scheduler for measured tasks. The cost model uses the measured
// times, and decides between the list and round-robin schedules.
//
//===----------------------------------------------------------------------===//

#include "dialects/ark/ArkMeasurements.h"
#include "passes/scheduling/Scheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::ark;

namespace {
class ProfileScheduler : public Scheduler {
public:
  StringRef getName() const override { return "profile"; }

  SmallVector<const Scheduler *>
  getCandidates(const SchedulerInput &) const override {
    return {this, &getRoundRobinScheduler()};
  }

  LogicalResult check(const SchedulerInput &input) const override {
    ArrayRef<TaskOp> tasks = input.dependences.getTasks();
    if (tasks.empty() || llvm::any_of(tasks, getMeasuredNs))
      return success();
    ProgramOp program = input.program;
    return program.emitOpError("has no measured costs for the scheduler "
                               "'profile': no task has '")
           << kMeasuredNsAttr << "'";
  }

  ScheduledLanes schedule(const SchedulerInput &input) const override {
    return getListScheduler().schedule(input);
  }
};
} // namespace

const Scheduler &mlir::ark::getProfileScheduler() {
  static const ProfileScheduler scheduler;
  return scheduler;
}
