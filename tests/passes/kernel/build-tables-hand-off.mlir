// RUN: ark-opt %s --ark-build-tables --ark-verify-kernel | FileCheck %s

// The packet buffer has the slot after the last argument; the tables hold no wait for packets.
// CHECK-LABEL: ark.kernel @handOff
// CHECK-SAME: instructions = dense<{{\[}}[0, 0, 0, 1], [0, 1, 0, 1], [3, 0, 2, 0], [0, 0, 1, 2], [0, 1, 1, 2], [3, 0, 2, 0]]>
// CHECK-SAME: operands = dense<{{\[}}[2, 64], [2, 64], [1, 0]]>
// CHECK-SAME: packets = 128 : i64
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @handOff(%y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<128xi8>
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c64][] : memref<128xi8> to memref<16xi32>
  ark.task "a" grid [2] ins() outs(%p[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xi32>) attributes {ark.body = @body_a} {
  ^bb0(%i: index, %a: memref<8xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) attributes {ark.body = @body_b} {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 2] warps = [0, 1] {
      ark.run "a" [d0, d0 + 1]
      ark.run "b" [d0, d0 + 1]
      ark.barrier @end
    }
  }
  ark.return
}
func.func @ark_kernel() {
  return
}
func.func private @body_a(%b: index, %e: index, %t: index, %s: memref<4xi64>, %p: memref<16xi32> {ark.packets}) {
  return
}
func.func private @body_b(%b: index, %e: index, %t: index, %s: memref<4xi64>, %p: memref<16xi32> {ark.packets}, %y: memref<16xf32>) {
  return
}
}
