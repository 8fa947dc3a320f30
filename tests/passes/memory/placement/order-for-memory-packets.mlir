// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-order-for-memory{limit=600}))' | FileCheck %s

// Task "get" frees %w, and could run before "make" if it did not read the packets of "put".
// CHECK-LABEL: ark.program @keepsPackets
// CHECK:       ark.task "write"
// CHECK:       ark.task "make"
// CHECK:       ark.task "put"
// CHECK:       ark.task "get"
// CHECK:       ark.task "last"
ark.program @keepsPackets(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %packets[%c0][] : memref<64xi8> to memref<4xi64>
  %w = memref.alloc() : memref<64xf32>
  %big = memref.alloc() : memref<128xf32>
  %g = memref.alloc() : memref<16xf32>
  ark.task "write" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%w[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "make" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%big[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "put" grid [1] ins(%big[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<4xi64, strided<[1], offset: ?>>):
    %zero = arith.constant 0 : i64
    linalg.fill ins(%zero : i64) outs(%t1 : memref<4xi64, strided<[1], offset: ?>>)
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "get" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>, %w[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%g[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xi64, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "last" grid [1] ins(%big[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>, %g[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
