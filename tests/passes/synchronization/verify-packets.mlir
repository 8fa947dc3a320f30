// RUN: ark-opt %s --ark-verify-synchronization | FileCheck %s
// The proof fails if a wait for packets is deleted, as for all other waits.
// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-test-delete-each-wait))' -o /dev/null

// CHECK-LABEL: ark.program @packets
// CHECK: ark.wait @p
ark.program @packets(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 1 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
