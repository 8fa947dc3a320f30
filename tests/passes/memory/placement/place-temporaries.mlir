// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark.task(ark-place-temporaries)))' --verify-diagnostics | FileCheck %s

// Temporaries move out of loops to the head of the body; the task states the sum of their bytes.
// CHECK-LABEL: ark.program @headOfTheBody
// CHECK:       ark.task "t"
// CHECK-SAME:    attributes {shared_memory = 192 : i64}
// CHECK-NEXT:  ^bb0
// CHECK-NEXT:    %[[A:.+]] = memref.alloca() {alignment = 64 : i64} : memref<20xf32>
// CHECK-NEXT:    %[[B:.+]] = memref.alloca() {alignment = 64 : i64} : memref<8xi8>
// CHECK:         scf.for
// CHECK-NEXT:      linalg.fill {{.+}} outs(%[[A]]
// CHECK-NEXT:      linalg.fill {{.+}} outs(%[[B]]
ark.program @headOfTheBody(%y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %zero = arith.constant 0.0 : f32
    %z = arith.constant 0 : i8
    scf.for %k = %c0 to %c4 step %c1 {
      %0 = memref.alloc() : memref<20xf32>
      linalg.fill ins(%zero : f32) outs(%0 : memref<20xf32>)
      %1 = memref.alloc() : memref<8xi8>
      linalg.fill ins(%z : i8) outs(%1 : memref<8xi8>)
    }
    ark.yield
  }
  ark.return
}

// -----

// A temporary reuses the bytes of a dead one, even if the dead one was used
// through views.
// CHECK-LABEL: ark.program @disjointLifetimes
// CHECK:       attributes {shared_memory = 512 : i64}
// CHECK:         %[[A:.+]] = memref.alloca() {{.+}} : memref<8x8xf32>
// CHECK-NEXT:    %[[B:.+]] = memref.alloca() {{.+}} : memref<8x8xf32>
// CHECK-NOT:     memref.alloca
// CHECK:         linalg.fill {{.+}} outs(%[[A]]
// CHECK:         %[[VIEW:.+]] = memref.collapse_shape %[[A]]
// CHECK:         linalg.fill {{.+}} outs(%[[B]]
// CHECK:         linalg.fill {{.+}} outs(%[[VIEW]]
// CHECK:         linalg.fill {{.+}} outs(%[[A]]
// CHECK:         linalg.fill {{.+}} outs(%[[B]]
ark.program @disjointLifetimes(%y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    %0 = memref.alloc() : memref<8x8xf32>
    %1 = memref.alloc() : memref<8x8xf32>
    %2 = memref.alloc() : memref<8x8xf32>
    linalg.fill ins(%zero : f32) outs(%0 : memref<8x8xf32>)
    %3 = memref.collapse_shape %0 [[0, 1]] : memref<8x8xf32> into memref<64xf32>
    linalg.fill ins(%zero : f32) outs(%1 : memref<8x8xf32>)
    linalg.fill ins(%zero : f32) outs(%3 : memref<64xf32>)
    linalg.fill ins(%zero : f32) outs(%2 : memref<8x8xf32>)
    linalg.fill ins(%zero : f32) outs(%1 : memref<8x8xf32>)
    ark.yield
  }
  ark.return
}

// -----

// An elementwise op may write in place; an op that broadcasts or reads another
// part may not.
// CHECK-LABEL: ark.program @elementwise
// CHECK:       attributes {shared_memory = 64 : i64}
// CHECK:         %[[A:.+]] = memref.alloca() {{.+}} : memref<4x4xf32>
// CHECK-NOT:     memref.alloca
// CHECK:         linalg.fill {{.+}} outs(%[[A]]
// CHECK:         linalg.exp ins(%[[A]] {{.+}} outs(%[[A]]
// CHECK:         linalg.exp ins(%[[A]] {{.+}} outs(%[[O:.+]] :
ark.program @elementwise(%y: memref<4x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0, 0), [4, 4]>] : memref<4x4xf32>) {
  ^bb0(%i: index, %o: memref<4x4xf32, strided<[4, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    %0 = memref.alloc() : memref<4x4xf32>
    %1 = memref.alloc() : memref<4x4xf32>
    linalg.fill ins(%zero : f32) outs(%0 : memref<4x4xf32>)
    linalg.exp ins(%0 : memref<4x4xf32>) outs(%1 : memref<4x4xf32>)
    linalg.exp ins(%1 : memref<4x4xf32>) outs(%o : memref<4x4xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// CHECK-LABEL: ark.program @notElementwise
// CHECK:       attributes {shared_memory = 128 : i64}
// CHECK:         %[[A:.+]] = memref.alloca()
// CHECK-NEXT:    %[[B:.+]] = memref.alloca()
// CHECK:         linalg.transpose ins(%[[A]] {{.+}} outs(%[[B]]
// CHECK:         %[[ROW:.+]] = memref.subview %[[B]]
// CHECK:         linalg.broadcast ins(%[[ROW]] {{.+}} outs(%[[A]]
// CHECK:         linalg.add ins(%[[A]], %[[A]] {{.+}} outs(%[[A]]
ark.program @notElementwise(%y: memref<4x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0, 0), [4, 4]>] : memref<4x4xf32>) {
  ^bb0(%i: index, %o: memref<4x4xf32, strided<[4, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    %0 = memref.alloc() : memref<4x4xf32>
    %1 = memref.alloc() : memref<4x4xf32>
    %2 = memref.alloc() : memref<4x4xf32>
    %3 = memref.alloc() : memref<4x4xf32>
    linalg.fill ins(%zero : f32) outs(%0 : memref<4x4xf32>)
    linalg.transpose ins(%0 : memref<4x4xf32>) outs(%1 : memref<4x4xf32>) permutation = [1, 0]
    %row = memref.subview %1[0, 0] [1, 4] [1, 1] : memref<4x4xf32> to memref<4xf32, strided<[1]>>
    linalg.broadcast ins(%row : memref<4xf32, strided<[1]>>) outs(%2 : memref<4x4xf32>) dimensions = [0]
    linalg.add ins(%2, %2 : memref<4x4xf32>, memref<4x4xf32>) outs(%3 : memref<4x4xf32>)
    linalg.exp ins(%3 : memref<4x4xf32>) outs(%o : memref<4x4xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @dynamicSize(%y: memref<10xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [3] ins() outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<10xf32>) {
  ^bb0(%i: index, %o: memref<?xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    %c0 = arith.constant 0 : index
    %d = memref.dim %o, %c0 : memref<?xf32, strided<[1], offset: ?>>
    // expected-error @below {{temporary has no static size}}
    %0 = memref.alloc(%d) : memref<?xf32>
    linalg.fill ins(%zero : f32) outs(%0 : memref<?xf32>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @anotherBufferInEveryIteration(%y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %0 = memref.alloc() : memref<4xf32>
    %1 = scf.for %k = %c0 to %c4 step %c1 iter_args(%b = %0) -> memref<4xf32> {
      // expected-error @below {{temporary is used outside of the iteration that allocates it}}
      %2 = memref.alloc() : memref<4xf32>
      linalg.exp ins(%b : memref<4xf32>) outs(%2 : memref<4xf32>)
      scf.yield %2 : memref<4xf32>
    }
    linalg.copy ins(%1 : memref<4xf32>) outs(%o : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
