// RUN: ark-opt %s --split-input-file --ark-insert-synchronization --ark-verify-synchronization | FileCheck %s
// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-insert-synchronization --ark-test-delete-each-wait -o /dev/null

// Packets need no semaphore: both lanes send and receive, and meet only at the end. The predicted time is
// two work items of 100 ns, half a hand-off of 10 ns between them, and a barrier with its signal.
// CHECK-LABEL: ark.program @nothingButPackets(
// CHECK: ark.schedule "hand" sms = 2 predicted_ns = 228 {
// CHECK-NEXT: ark.semaphore @end arrivals = 2 handoff = barrier
// CHECK-NEXT: ark.lane
// CHECK-NEXT: ark.run "a"
// CHECK-NEXT: ark.run "b"
// CHECK-NEXT: ark.barrier @end
// CHECK-NEXT: }
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @nothingButPackets(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  ark.task "a" grid [2] ins() outs(%p[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<8xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.lane sms = [0, 2] warps = [0, 8] {
      ark.run "a" [d0, d0 + 1]
      ark.run "b" [d0, d0 + 1]
    }
  }
  ark.return
}
}

// -----

// A write of the task other than its packets needs a signal and a wait.
// CHECK-LABEL: ark.program @moreThanPackets(
// CHECK: ark.schedule
// CHECK-DAG: ark.semaphore @[[A:.+]] arrivals = 2
// CHECK-DAG: ark.semaphore @end
// CHECK: ark.lane
// CHECK-NEXT: ark.run "a"
// CHECK: @[[A]]
// CHECK: ark.run "c"
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @moreThanPackets(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  %packets = ark.packets : memref<128xi8>
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  ark.task "a" grid [2] ins() outs(%p[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xi32>, %t[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<8xi32, strided<[1], offset: ?>>, %c: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [2] ins(%t[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%z[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.lane sms = [0, 2] warps = [0, 8] {
      ark.run "a" [d0, d0 + 1]
      ark.run "b" [d0, d0 + 1]
      ark.run "c" [d0, d0 + 1]
    }
  }
  ark.return
}
}
