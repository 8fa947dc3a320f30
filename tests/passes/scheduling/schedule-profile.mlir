// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=profile --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 8,
    shared_memory = 0, bandwidth = 2, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// The model predicts equal times for all three tasks. The measured time of the second task is that of the
// other two together.
// CHECK-LABEL: ark.program @measured
// CHECK: ark.schedule "profile" sms = 2 predicted_ns = 4000 {
// CHECK-NEXT: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "b" [0, 1]
// CHECK-NEXT: }
// CHECK-NEXT: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.run "a" [0, 1]
// CHECK-NEXT: ark.run "c" [0, 1]
ark.program @measured() {
  ark.task "a" grid [1] ins() outs() attributes {ark.measured_ns = 2000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs() attributes {ark.measured_ns = 4000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "c" grid [1] ins() outs() attributes {ark.measured_ns = 2000.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// Longest-first would take 7000 ns, so the scheduler chooses another strategy.
// CHECK-LABEL: ark.program @better_by_turns
// CHECK: ark.schedule "round-robin" sms = 2 predicted_ns = 6000 {
// CHECK-NEXT: ark.lane sms = [0, 2]
// CHECK-NOT: ark.schedule
ark.program @better_by_turns() {
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
}
