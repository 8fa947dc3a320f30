//===- Passes.td - Passes of the scheduling stage ----------*- tablegen -*-===//

#ifndef ARK_PASSES_SCHEDULING_PASSES_TD
#define ARK_PASSES_SCHEDULING_PASSES_TD

include "mlir/Pass/PassBase.td"

class Ark_SchedulerPass<string name> : Pass<name, "::mlir::ark::ProgramOp"> {
  let dependentDialects = ["::mlir::ark::ArkDialect"];
  let statistics = [
    Statistic<"numRuns", "runs", "Runs of all lanes">,
    Statistic<"numLanes", "lanes", "Lane ops, each for one SM or more">,
  ];
}

def SchedulePass : Ark_SchedulerPass<"ark-schedule"> {
  let summary = "Place and order all vCTAs with the scheduler of that name";
  let description = [{
    Adds an `ark.schedule` of lanes and runs. A program that has a schedule
    keeps it: this is how schedules are written, or edited, by hand.

    `list` is the default; an unknown name is an error that lists the known ones.
    A task's `plan` may pin `sms = [begin, end)` and `warps = [begin, end)`, and
    with them `shared_memory`; every scheduler honours it.
  }];
  let options = [
    Option<"scheduler", "scheduler", "std::string", /*default=*/"\"list\"",
           "list or round-robin">,
  ];
}

def ScheduleRoundRobinPass : Ark_SchedulerPass<"ark-schedule-round-robin"> {
  let summary = "Deal the vCTAs of every task out to the SMs in equal ranges";
  let description = [{
    Tasks run in program order, each on all SMs. The SM that starts a task is
    chosen so that the shares of all tasks together stay balanced.

    ```mlir
    ark.task "fc" grid [8] ...
    // on two SMs =>
    ark.schedule "round-robin" sms = 2 {
      ark.lane sms = [0, 2] warps = [0, 8] {
        ark.run "fc" [d0 * 4, d0 * 4 + 4]
      }
    }
    ```
  }];
}

def VerifySchedulingPass : Pass<"ark-verify-scheduling", "::mlir::ark::ProgramOp"> {
  let summary = "Check that a schedule can be synchronised";
  let description = [{
    Beyond what the op verifies: the schedule fits the target, lanes are wide
    enough for their tasks, pins are honoured, prefetches name parameters,
    and the order of the lanes does not contradict the dependences. A schedule
    that already has semaphores is left to `ark-verify-synchronization`.
    Changes nothing.
  }];
}

#endif // ARK_PASSES_SCHEDULING_PASSES_TD
