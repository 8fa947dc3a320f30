// RUN: ark-opt %s --ark-build-tables --verify-diagnostics

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @packets(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) attributes {ark.body = @body_put} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) attributes {ark.body = @body_read} {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    // expected-error @below {{is of kind packet, but a signal follows no task that sends packets}}
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
func.func private @body_put(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>, %p: memref<4xi64> {ark.packets}) {
  return
}
func.func private @body_read(%b: index, %e: index, %t: index, %s: memref<4xi64>, %p: memref<4xi64>, %y: memref<4xf32>) {
  return
}
}
