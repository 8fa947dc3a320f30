//===- Passes.td - Passes of the scheduling stage ----------*- tablegen -*-===//

#ifndef ARK_PASSES_SCHEDULING_PASSES_TD
#define ARK_PASSES_SCHEDULING_PASSES_TD

include "mlir/Pass/PassBase.td"

class Ark_SchedulerPass<string name> : Pass<name, "::mlir::ark::ProgramOp"> {
  let dependentDialects = ["::mlir::ark::ArkDialect"];
  let statistics = [
    Statistic<"numRuns", "runs", "Work items of all lanes">,
    Statistic<"numLanes", "lanes", "Lane ops, each for one SM or more">,
  ];
}

def SchedulePass : Ark_SchedulerPass<"ark-schedule"> {
  let summary = "Assign all vCTAs to lanes, in order, with a scheduler";
  let description = [{
    Adds an `ark.schedule` of lanes and work items. A program with a schedule keeps its schedule, so
    that schedules can be written or edited by hand; the pass only adds a missing `predicted_ns`.
    `scheduler` selects the algorithm; an unknown name is an error that lists the known ones:

    - `auto`, the default: the schedule of `list`, `round-robin` and `rounds` with the shortest
      predicted time. Also that of `overlap` if a plan limits the SMs of an exchange of at least
      4 MiB, or if the others are predicted to take at least 5 % longer than `overlap`.
    - `list`: critical tasks first, each on the lanes and at the time with the earliest end (see
      `ark-schedule-list`).
    - `round-robin`: every task divided among all SMs (see `ark-schedule-round-robin`).
    - `rounds`: every task divided, in program order, among the fewest SMs that need as many waves
      as all SMs would. If the numbers of vCTAs match, dependent vCTAs stay on one SM.
    - `overlap`: for several ranks; `list` with a few SMs of each rank for large exchanges, which
      then run beside computations. An exchange may use the other SMs as well if it ends earlier.
    - `profile`: the schedule of `list` and `round-robin` with the shorter predicted time, based on
      measured costs. The `ark.measured_ns` of a task is the measured time of one of its vCTAs in
      ns; the cost model of all stages uses it.
    - `alone`: for measurements; one task after the other, each on the first SM that it may use.

    A task's `plan` may pin `sms`, `warps` and `shared_memory`, each to a range `[begin, end)`.
    Every scheduler honours these pins.
  }];
  let options = [
    Option<"scheduler", "scheduler", "std::string", /*default=*/"\"auto\"",
           "auto, list, profile, round-robin, rounds, overlap or alone">,
  ];
}

def ExportProblemPass : Pass<"ark-export-scheduling-problem", "::mlir::ark::ProgramOp"> {
  let summary = "Export the scheduling problem for an external solver";
  let description = [{
    Writes JSON: the lanes; for every task, the range of lanes that may run it and the time of each
    of its vCTAs in ns; for every vCTA, the vCTAs of other tasks that must precede it; and the cost
    of a hand-off by its number of producing lanes. A solution is added to the program as an
    `ark.schedule`, which later stages check like a schedule written by hand. Changes nothing.

    ```json
    {"sms": 2,
     "lanes": [{"sm": 0, "warps": [0, 8]}, {"sm": 1, "warps": [0, 8]} ],
     "tasks": [{"name": "fc", "lanes": [0, 2], "ns": [370.0, 370.0]},
               {"name": "relu", "lanes": [0, 2], "ns": [60.0]} ],
     "needs": [{"task": 1, "vcta": 0, "producer": 0, "vctas": [0, 1]} ],
     "handoff": [200.0, 300.0]}
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", /*default=*/"\"problem.json\"", "The file to write">,
    Option<"maxVCTAs", "max-vctas", "int64_t", /*default=*/"1024",
           "Maximum number of vCTAs; a larger program is an error">,
  ];
}

def ScheduleListPass : Ark_SchedulerPass<"ark-schedule-list"> {
  let summary = "Schedule critical tasks first, each where it ends earliest";
  let description = [{
    List scheduling by the longest path to the end of the program, on the cost model. A task is
    spread over all lanes, placed on fewer lanes, or placed on the lanes that produced its inputs.
    The pass selects the placement that lets the consumers of the task begin first. Gaps between
    work items that were placed earlier are filled. In a pipeline (`microbatch` in the plan), each
    lane executes the units of its rank in the order of the program (see `ark-order-microbatches`).

    ```mlir
    ark.task "a" grid [2] ...            // a and b are independent
    ark.task "b" grid [2] ...
    ark.task "c" grid [1] ...            // reads both
    // on two SMs, where b takes much longer than a =>
    ark.schedule "list" sms = 2 {
      ark.lane sms = [0, 1] warps = [0, 8] {
        ark.run "b" [0, 1]
        ark.run "a" [0, 1]
        ark.run "c" [0, 1]
      }
      ark.lane sms = [1, 2] warps = [0, 8] {
        ark.run "b" [1, 2]
        ark.run "a" [1, 2]
      }
    }
    ```
  }];
}

def ScheduleRoundRobinPass : Ark_SchedulerPass<"ark-schedule-round-robin"> {
  let summary = "Divide the vCTAs of every task among the SMs in equal ranges";
  let description = [{
    Tasks run in program order, each on all SMs. The SM with the first vCTA of a task is chosen such
    that the total loads of the SMs stay balanced.

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
    Checks more than the verifier of the op: the schedule fits the target, lanes are wide enough for
    their tasks, pins are honoured, prefetches name parameters, and the order of the lanes does not
    contradict the dependences. A schedule that already has semaphores is left to
    `ark-verify-synchronization`. Changes nothing.
  }];
}

#endif // ARK_PASSES_SCHEDULING_PASSES_TD
