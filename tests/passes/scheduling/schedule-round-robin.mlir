// RUN: ark-opt %s --split-input-file --ark-schedule-round-robin --ark-verify-scheduling | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=round-robin --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 2,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// CHECK-LABEL: ark.program @equalRanges
// CHECK: ark.schedule "round-robin" sms = 4 predicted_ns = 100 {
// CHECK-NEXT: ark.lane sms = [0, 4] warps = [0, 2] {
// CHECK-NEXT: ark.run "a" [d0 * 2, d0 * 2 + 2]
// CHECK-NEXT: }
// CHECK-NEXT: }
ark.program @equalRanges() {
  ark.task "a" grid [4, 2] ins() outs() {
  ^bb0(%i: index, %j: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 2,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// Extra vCTAs of the second task are on SMs without an extra vCTA of the first task.
// CHECK-LABEL: ark.program @extraVCTAsGoAround
// CHECK: ark.lane sms = [0, 4] warps = [0, 2] {
// CHECK-NEXT: ark.run "a" [(d0 * 6) floordiv 4, ((d0 + 1) * 6) floordiv 4]
// CHECK-NEXT: ark.run "b" [(((d0 - 1) mod 4) * 6) floordiv 4, (((d0 - 1) mod 4 + 1) * 6) floordiv 4]
ark.program @extraVCTAsGoAround() {
  ark.task "a" grid [6] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [6] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 2,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// With fewer vCTAs than SMs some ranges are empty.
// CHECK-LABEL: ark.program @fewVCTAs
// CHECK: ark.run "a" [d0 floordiv 4, (d0 + 1) floordiv 4]
// CHECK-NEXT: ark.run "b" [((d0 + 3) mod 4) floordiv 4, ((d0 + 3) mod 4 + 1) floordiv 4]
ark.program @fewVCTAs() {
  ark.task "a" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 2,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// CHECK-LABEL: ark.program @handWrittenSchedulesStay
// CHECK: ark.schedule "hand" sms = 1 predicted_ns = 50 {
// CHECK-NEXT: ark.lane sms = [0, 1] warps = [0, 1] {
// CHECK-NEXT: ark.run "a" [0, 1]
ark.program @handWrittenSchedulesStay() {
  ark.task "a" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}
