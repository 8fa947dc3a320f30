// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-plan-arena))' | FileCheck %s

// Each rank may have its own GPU, so its part of the arena consists of whole
// pages of 2 MiB. Rank 1 has a part although it has no intermediate.
// CHECK:       %[[ARENA:.+]] = ark.arena : memref<4194304xi8>
// CHECK:       memref.view %[[ARENA]][%{{.+}}][] : memref<4194304xi8> to memref<32xf32>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @ranks(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"}) attributes {world_size = 2 : i64} {
  %0 = memref.alloc() : memref<32xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%0[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<32xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [4]>] : memref<32xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
