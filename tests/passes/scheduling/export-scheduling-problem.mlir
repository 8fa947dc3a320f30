// RUN: ark-opt %s --ark-export-scheduling-problem=file=%t.json -o /dev/null && FileCheck %s < %t.json

// CHECK: "sms": 2,
// CHECK: "lanes": [
// CHECK: "sm": 0,
// CHECK-NEXT: "warps": [
// CHECK-NEXT: 0,
// CHECK-NEXT: 4
// CHECK: "shared_memory": [
// CHECK: "sm": 1,
// CHECK: "sm": 0,
// CHECK-NEXT: "warps": [
// CHECK-NEXT: 4,
// CHECK-NEXT: 8
// CHECK: "sm": 1,
// CHECK: "tasks": [
// CHECK: "name": "a",
// CHECK-NEXT: "lanes": [
// CHECK-NEXT: 2,
// CHECK-NEXT: 4
// CHECK: "ns": [
// CHECK-NEXT: 104,
// CHECK-NEXT: 104
// CHECK: "name": "b",
// CHECK-NEXT: "lanes": [
// CHECK-NEXT: 1,
// CHECK-NEXT: 2
// CHECK: "needs": [
// CHECK: "task": 1,
// CHECK-NEXT: "vcta": 0,
// CHECK-NEXT: "producer": 0,
// CHECK-NEXT: "vctas": [
// CHECK-NEXT: 0,
// CHECK-NEXT: 1
// CHECK-NEXT: ]
// CHECK: "handoff": [
// CHECK-NEXT: 10,
// CHECK-NEXT: 15,
// CHECK-NEXT: 20,
// CHECK-NEXT: 25
// CHECK-NEXT: ]
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 2, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @pinnedAndFree(
    %x: memref<2xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<1xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<2xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [2]>] : memref<2xf32>)
      outs(%y[#ark.region<(d0) -> (0), [1]>] : memref<1xf32>)
      attributes {plan = {sms = array<i64: 1, 2>, warps = array<i64: 0, 4>, shared_memory = array<i64: 0, 1024>}} {
  ^bb0(%i: index, %a: memref<2xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
