// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=rounds --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 5, warps = 2,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// Four, seven or eight vCTAs take as many waves on four SMs as on five. All tasks use the same four SMs.
// CHECK-LABEL: ark.program @fewer
// CHECK: ark.schedule "rounds" sms = 5 predicted_ns = 250 {
// CHECK-NEXT: ark.lane sms = [0, 1] warps = [0, 2] {
// CHECK-NEXT: ark.run "a" [0, 1]
// CHECK-NEXT: ark.run "b" [0, 2]
// CHECK-NEXT: ark.run "c" [0, 1]
// CHECK: ark.lane sms = [3, 4] warps = [0, 2] {
// CHECK-NEXT: ark.run "a" [3, 4]
// CHECK-NEXT: ark.run "b" [6, 8]
// CHECK-NEXT: ark.run "c" [5, 7]
// CHECK: ark.lane sms = [4, 5] warps = [0, 2] {
// CHECK-NEXT: ark.run "a" [4, 4]
// CHECK-NEXT: ark.run "b" [8, 8]
// CHECK-NEXT: ark.run "c" [7, 7]
ark.program @fewer() {
  ark.task "a" grid [4] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [8] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "c" grid [7] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// Nine vCTAs take two waves on all five SMs.
// CHECK-LABEL: ark.program @all
// CHECK: ark.lane sms = [0, 5] warps = [0, 2] {
// CHECK-NEXT: ark.run "a" [(d0 * 9) floordiv 5, ((d0 + 1) * 9) floordiv 5]
ark.program @all() {
  ark.task "a" grid [9] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// The scheduler honours pins.
// CHECK-LABEL: ark.program @pinned
// CHECK: ark.lane sms = [2, 3]
// CHECK-NEXT: ark.run "a" [0, 1]
// CHECK: ark.lane sms = [3, 4]
// CHECK-NEXT: ark.run "a" [1, 2]
// CHECK: ark.lane sms = [4, 5]
// CHECK-NEXT: ark.run "a" [2, 2]
ark.program @pinned() {
  ark.task "a" grid [2] ins() outs() attributes {plan = {sms = array<i64: 2, 5>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}
