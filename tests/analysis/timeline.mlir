// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-test-print-timeline -o /dev/null | FileCheck %s

// A wait lasts from the lane's arrival at the wait until the arrival of the hand-off.
// CHECK: SM 0
// CHECK-NEXT: ark.run at 0 for 100
// CHECK-NEXT: ark.signal at 100 for 50
// CHECK-NEXT: ark.run at 150 for 50
// CHECK-NEXT: ark.barrier at 200 for 600
// CHECK-NEXT: SM 1
// CHECK-NEXT: ark.wait at 0 for 350
// CHECK-NEXT: ark.run at 350 for 50
// CHECK-NEXT: ark.barrier at 400 for 400
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @waitsAreIntervals() {
  ark.task "a" grid [3] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @a arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 2]
      ark.signal @a
      ark.run "a" [2, 3]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @a
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}
