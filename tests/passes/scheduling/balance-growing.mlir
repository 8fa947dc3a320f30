// RUN: ark-opt %s --ark-schedule=scheduler=round-robin --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3, warps = 2,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// The vCTAs take 1, 2, ... 7 units of time. In the order 0, 6, 1, 5, 2, 4, 3, the lanes have the positions 0 and 1,
// 2 and 3, and 4 to 6.
// CHECK-LABEL: ark.program @growing
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "a" [0, 1]
// CHECK-NEXT: ark.run "a" [6, 7]
// CHECK: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.run "a" [1, 2]
// CHECK-NEXT: ark.run "a" [5, 6]
// CHECK: ark.lane sms = [2, 3]
// CHECK-NEXT: ark.run "a" [2, 4]
// CHECK-NEXT: ark.run "a" [4, 5]
ark.program @growing() {
  ark.task "a" grid [7] ins() outs() attributes {ark.growing} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// A task without synchronisation stays in the lanes of its producers.
// CHECK-LABEL: ark.program @pinned
// CHECK: ark.lane sms = [0, 3]
// CHECK-NEXT: ark.run "a"
// CHECK-NOT: ark.run
ark.program @pinned() {
  ark.task "a" grid [6] ins() outs() attributes {ark.growing, plan = {sync = false}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}
