// RUN: ark-opt %s --split-input-file --ark-schedule-list --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 76, warps = 4,
    shared_memory = 0, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 10000>} {
// The GPU has eight L2s, also for a launch on few of its SMs: SMs 0 and 8 share one. The work does not fit into the SM
// of the producer, and SM 8 gets the hand-off through the L2 of the producer.
// CHECK-LABEL: ark.program @handOffsStayInOneL2
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "head"
// CHECK-NEXT: ark.run "left"
// CHECK: ark.lane sms = [8, 9]
// CHECK-NEXT: ark.run "right"
// CHECK-NOT: ark.lane
ark.program @handOffsStayInOneL2(
    %x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "head" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "left" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "right" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%z[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx90a", sms = 76, warps = 4,
    shared_memory = 0, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 10000>} {
// All SMs share one L2, so that SM 1 is as good as any other.
// CHECK-LABEL: ark.program @oneL2
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "head"
// CHECK-NEXT: ark.run "left"
// CHECK: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.run "right"
// CHECK-NOT: ark.lane
ark.program @oneL2(
    %x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "head" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "left" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "right" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%z[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 76, warps = 4,
    shared_memory = 0, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 10000>} {
// The producer runs on SM 0 of rank 1, whose L2 is not that of any SM of rank 0.
// CHECK-LABEL: ark.program @l2sOfTwoRanks
// CHECK: ark.lane sms = [76, 77]
// CHECK-NEXT: ark.run "head"
// CHECK-NEXT: ark.run "left"
// CHECK: ark.lane sms = [84, 85]
// CHECK-NEXT: ark.run "right"
// CHECK-NOT: ark.lane
ark.program @l2sOfTwoRanks(
    %x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) attributes {world_size = 2 : i64} {
  ark.task "head" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 1}} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "left" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "right" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%z[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 76, warps = 4,
    shared_memory = 0, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 10000>} {
// Each rank has one L2, and the order of lanes with equal starts is that of their SMs.
// CHECK-LABEL: ark.program @oneL2OfTwoRanks
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "right"
// CHECK: ark.lane sms = [76, 77]
// CHECK-NEXT: ark.run "head"
// CHECK-NEXT: ark.run "left"
// CHECK-NOT: ark.lane
ark.program @oneL2OfTwoRanks(
    %x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) attributes {world_size = 2 : i64} {
  ark.task "head" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 1}} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "left" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "right" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%z[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
