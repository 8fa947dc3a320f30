// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: ark.program @lanesOfOneSmRunConcurrently
ark.program @lanesOfOneSmRunConcurrently(
    %x: memref<32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "x"},
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [4] ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<32xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<32xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // CHECK: ark.schedule "hand" sms = 2 predicted_ns = 1000 {
  ark.schedule "hand" sms = 2 predicted_ns = 1000 {
    // CHECK-NEXT: ark.semaphore @done arrivals = 2
    ark.semaphore @done arrivals = 2
    // CHECK-NEXT: ark.semaphore @end arrivals = 4 handoff = barrier
    ark.semaphore @end arrivals = 4 handoff = barrier
    // CHECK-NEXT: ark.lane sms = [0, 2] warps = [0, 4] shared_memory = [0, 1024] {
    ark.lane sms = [0, 2] warps = [0, 4] shared_memory = [0, 1024] {
      // CHECK-NEXT: ark.prefetch "t" operand = 0 [d0, d0 + 1]
      ark.prefetch "t" operand = 0 [d0, d0 + 1]
      // CHECK-NEXT: ark.run "t" [d0, d0 + 1]
      ark.run "t" [d0, d0 + 1]
      // CHECK-NEXT: ark.signal @done
      ark.signal @done
      // CHECK-NEXT: ark.barrier @end
      ark.barrier @end
    }
    // CHECK: ark.lane sms = [0, 2] warps = [4, 8] shared_memory = [1024, 2048] {
    ark.lane sms = [0, 2] warps = [4, 8] shared_memory = [1024, 2048] {
      // CHECK-NEXT: ark.wait @done
      ark.wait @done
      // CHECK-NEXT: ark.run "t" [d0 + 2, d0 + 3]
      ark.run "t" [d0 + 2, d0 + 3]
      ark.barrier @end
    }
  }
  ark.return
}
