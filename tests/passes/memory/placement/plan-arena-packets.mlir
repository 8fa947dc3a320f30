// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-plan-arena,ark-verify-memory))' | FileCheck %s

// No other intermediate reuses the bytes of packets, even if the packets are used only before it: its
// values could look like packets of a later epoch.
// CHECK-LABEL: ark.program @packets
// CHECK: ark.arena : memref<192xi8>
ark.program @packets(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %p = memref.alloc() : memref<4xi64>
  %1 = memref.alloc() : memref<4xf32>
  %2 = memref.alloc() : memref<4xf32>
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    %zero = arith.constant 0 : i64
    linalg.fill ins(%zero : i64) outs(%b : memref<4xi64, strided<[1], offset: ?>>)
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%2[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%2[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
