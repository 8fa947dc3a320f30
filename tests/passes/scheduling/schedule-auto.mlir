// RUN: ark-opt %s --split-input-file --ark-schedule --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 8,
    shared_memory = 0, bandwidth = 2, flops = 100, handoff = 10, barrier = 20, overhead = 1000>} {
// Longest-first takes 7000 ns; placing each task on the least loaded SM takes 6000 ns.
// CHECK-LABEL: ark.program @by_turns_is_better
// CHECK: ark.schedule "round-robin" sms = 2 predicted_ns = 6000 {
// CHECK-NOT: ark.schedule
ark.program @by_turns_is_better() {
  ark.task "a" grid [1] ins() outs() attributes {ark.measured_ns = 3000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs() attributes {ark.measured_ns = 2000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "c" grid [1] ins() outs() attributes {ark.measured_ns = 2000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "d" grid [1] ins() outs() attributes {ark.measured_ns = 3000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "e" grid [1] ins() outs() attributes {ark.measured_ns = 2000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// If schedules have equal times, the pass keeps the first one.
// CHECK-LABEL: ark.program @both_are_alike
// CHECK: ark.schedule "list" sms = 2 predicted_ns = 2000 {
// CHECK-NOT: ark.schedule
ark.program @both_are_alike() {
  ark.task "a" grid [4] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}
