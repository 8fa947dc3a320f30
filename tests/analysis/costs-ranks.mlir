// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-test-print-costs))' -o /dev/null | FileCheck %s

// 16 SMs of a rank share 4,800 bytes per ns, so a vCTA that reads and writes 128 KiB each takes 874 ns beside the overhead
// of 300 ns. Each of four SMs has twice the share.
// CHECK: copy: reads 8388608 bytes, 0 of them weights, writes 8388608, 0 flops; first 1174 ns
// CHECK-NEXT: to other ranks: 0 bytes; all on 4 SMs: 47162 ns
// Links limit a put: 16 SMs share 370 bytes per ns, and each of four SMs stores 33 bytes per ns.
// CHECK: put: reads 8388608 bytes, 0 of them weights, writes 8388608, 0 flops; first 5668 ns
// CHECK-NEXT: to other ranks: 8388608 bytes; all on 4 SMs: 254200 ns
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 16, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @send(
    %x: memref<2097152xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<16777216xi8>
  %offset = arith.constant 8388608 : index
  %p = memref.view %arena[%offset][] : memref<16777216xi8> to memref<2097152xf32>
  ark.task "copy" grid [64] ins(%x[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%y[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "put" grid [64] ins(%x[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}
