// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-plan-arena{limit=192},ark-verify-memory))' | FileCheck %s

// Two branches may run concurrently. With a limit, the second branch reuses the bytes of %0, which
// only the order of the program keeps apart.
// CHECK-LABEL: ark.program @branchesInOrder
// CHECK-SAME:  ark.largest_live_set = 192 : i64, ark.memory_limit = 192 : i64
// CHECK:       ark.arena : memref<192xi8>
ark.program @branchesInOrder(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  %d = memref.alloc() : memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%b[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%d[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "e" grid [1] ins(%b[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %d[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A plan that keeps the limit without further order stays.
// CHECK-LABEL: ark.program @fitsAlready
// CHECK-SAME:  ark.largest_live_set = 192 : i64, ark.memory_limit = 192 : i64
// CHECK:       ark.arena : memref<192xi8>
ark.program @fitsAlready(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<16xf32>
  %c = memref.alloc() : memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%b[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%b[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
