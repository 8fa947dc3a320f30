// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-order-for-memory{limit=384},ark-plan-arena{limit=384},ark-verify-memory))' | FileCheck %s
// Without a limit, tasks keep their order.
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-order-for-memory))' | FileCheck %s --check-prefix=SAME

// Task "b" writes %b long before "e" reads it. Behind "d", it does not hold bytes beside those of %c.
// CHECK-LABEL: ark.program @delaysTheWriter
// CHECK-SAME:  ark.largest_live_set = 320 : i64
// CHECK:       ark.arena : memref<320xi8>
// CHECK:       ark.task "a"
// CHECK:       ark.task "c"
// CHECK:       ark.task "d"
// CHECK:       ark.task "b"
// CHECK:       ark.task "e"
// SAME-LABEL:  ark.program @delaysTheWriter
// SAME:        ark.task "a"
// SAME:        ark.task "b"
// SAME:        ark.task "c"
ark.program @delaysTheWriter(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<64xf32>
  %c = memref.alloc() : memref<64xf32>
  %d = memref.alloc() : memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%c[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%c[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%d[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "e" grid [1] ins(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %d[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// An order that needs no more than the limit stays.
// CHECK-LABEL: ark.program @fitsAlready
// CHECK:       ark.task "b"
// CHECK:       ark.task "c"
// SAME-LABEL:  ark.program @fitsAlready
ark.program @fitsAlready(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<32xf32>
  %c = memref.alloc() : memref<16xf32>
  %d = memref.alloc() : memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%b[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<32xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
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
  ark.task "e" grid [1] ins(%b[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>, %d[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<32xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Writers of one buffer keep their order: the second write replaces the first.
// CHECK-LABEL: ark.program @keepsWrites
// CHECK:       ark.task "first"
// CHECK:       ark.task "read"
// CHECK:       ark.task "second"
// CHECK:       ark.task "last"
// SAME-LABEL:  ark.program @keepsWrites
ark.program @keepsWrites(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<32xf32>
  %b = memref.alloc() : memref<64xf32>
  %c = memref.alloc() : memref<16xf32>
  ark.task "first" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%a[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<32xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "other" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%a[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) outs(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<32xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "second" grid [1] ins(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%a[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<32xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "last" grid [1] ins(%a[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<32xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
