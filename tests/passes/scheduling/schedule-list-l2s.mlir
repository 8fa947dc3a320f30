// RUN: ark-opt %s --split-input-file --ark-schedule-list --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 76, warps = 4,
    shared_memory = 0, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 10000>} {
// SMs of even numbers share one L2, and those of odd numbers another. The work does not fit into the SM of the
// producer, and SM 2 gets the hand-off through the L2 of the producer.
// CHECK-LABEL: ark.program @handOffsStayInOneL2
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "head"
// CHECK-NEXT: ark.run "left"
// CHECK: ark.lane sms = [2, 3]
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
