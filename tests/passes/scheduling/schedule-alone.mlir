// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=alone --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 8,
    shared_memory = 0, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// Tasks run one after the other.
// CHECK-LABEL: ark.program @one_after_the_other
// CHECK: ark.schedule "alone" sms = 4 predicted_ns = 900 {
// CHECK-NEXT: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "a" [0, 8]
// CHECK-NEXT: ark.run "b" [0, 1]
// CHECK-NOT: ark.run
ark.program @one_after_the_other() {
  ark.task "a" grid [8] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// The scheduler honours pins.
// CHECK-LABEL: ark.program @pinned
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "a" [0, 2]
// CHECK: ark.lane sms = [2, 3]
// CHECK-NEXT: ark.run "b" [0, 6]
ark.program @pinned() {
  ark.task "a" grid [2] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [6] ins() outs() attributes {plan = {sms = array<i64: 2, 4>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}
