// RUN: ark-opt %s --split-input-file --ark-outline-bodies | FileCheck %s

// The task keeps its body and refers to the function.
// CHECK: #[[$TILE:.+]] = affine_map<(d0) -> (d0 * 16)>
// CHECK-LABEL: ark.program @bodyRunsARangeOfVCTAs
// CHECK: ark.task "square"
// CHECK-SAME: ark.body = @body_square
// CHECK: linalg.square
// CHECK: func.func private @body_square(
// CHECK-SAME: %[[BEGIN:[^:]+]]: index, %[[END:[^:]+]]: index, %{{[^:]+}}: index, %{{[^:]+}}: memref<4xi64>,
// CHECK-SAME: %[[X:[^:]+]]: memref<32xf32> {llvm.noalias}, %[[Y:[^:]+]]: memref<32xf32> {llvm.noalias})
// CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : index
// CHECK-NEXT: scf.for %[[I:.+]] = %[[BEGIN]] to %[[END]] step %[[ONE]] {
// CHECK-NEXT:   %[[FROM_X:.+]] = affine.apply #[[$TILE]](%[[I]])
// CHECK-NEXT:   %[[A:.+]] = memref.subview %[[X]][%[[FROM_X]]] [16] [1]
// CHECK-SAME:     memref<32xf32> to memref<16xf32, strided<[1], offset: ?>>
// CHECK-NEXT:   %[[FROM_Y:.+]] = affine.apply #[[$TILE]](%[[I]])
// CHECK-NEXT:   %[[B:.+]] = memref.subview %[[Y]][%[[FROM_Y]]] [16] [1]
// CHECK-NEXT:   linalg.square ins(%[[A]] : {{.+}}) outs(%[[B]] : {{.+}})
// CHECK-NEXT: }
// CHECK-NEXT: return
// CHECK-NEXT: }
ark.program @bodyRunsARangeOfVCTAs(
    %x: memref<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "square" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.square ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// vCTAs are numbered in row-major order, and the body gets the indices from the number.
// CHECK-LABEL: ark.program @gridIndicesAreRowMajor
// CHECK: func.func private @body_where(
// CHECK: scf.for %[[I:.+]] = %{{.+}} to %{{.+}} step
// CHECK-NEXT: %[[INDICES:.+]]:2 = affine.delinearize_index %[[I]] into (2, 3) : index, index
// CHECK: %[[ROW:.+]] = affine.apply #{{.+}}(%[[INDICES]]#0, %[[INDICES]]#1)
// CHECK: %[[COLUMN:.+]] = affine.apply #{{.+}}(%[[INDICES]]#0, %[[INDICES]]#1)
// CHECK: %[[TILE:.+]] = memref.subview %{{.+}}[%[[ROW]], %[[COLUMN]]] [4, 2] [1, 1]
// CHECK: %[[SUM:.+]] = arith.addi %[[INDICES]]#0, %[[INDICES]]#1 : index
// CHECK: memref.store %{{.+}}, %[[TILE]]
ark.program @gridIndicesAreRowMajor(
    %z: memref<8x6xi64> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "where" grid [2, 3]
      ins() outs(%z[#ark.region<(d0, d1) -> (d0 * 4, d1 * 2), [4, 2]>] : memref<8x6xi64>) {
  ^bb0(%i: index, %j: index, %a: memref<4x2xi64, strided<[6, 1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %sum = arith.addi %i, %j : index
    %value = arith.index_cast %sum : index to i64
    memref.store %value, %a[%c0, %c0] : memref<4x2xi64, strided<[6, 1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

// A clipped tile extends to the end of the operand.
// CHECK: #[[$CLIP:.+]] = affine_map<(d0) -> (16, -d0 + 40)>
// CHECK-LABEL: ark.program @clippedTile
// CHECK: func.func private @body_square(
// CHECK: %[[FROM:.+]] = affine.apply
// CHECK-NEXT: %[[SIZE:.+]] = affine.min #[[$CLIP]](%[[FROM]])
// CHECK-NEXT: memref.subview %{{.+}}[%[[FROM]]] [%[[SIZE]]] [1]
// CHECK-SAME: memref<40xf32> to memref<?xf32, strided<[1], offset: ?>>
ark.program @clippedTile(
    %x: memref<40xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<40xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "square" grid [3]
      ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<40xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<40xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    linalg.square ins(%a : memref<?xf32, strided<[1], offset: ?>>) outs(%b : memref<?xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The offset of an operand is data: views of the arena and of other operands
// are passed with offset 0 and their strides.
// CHECK-LABEL: ark.program @operandsBeginAtOffsetZero
// CHECK: func.func private @body_square(
// CHECK-SAME: %[[X:[^:]+]]: memref<2x3xf32, strided<[8, 2]>>
// CHECK-SAME: %[[Y:[^:]+]]: memref<2x3xf32>
// CHECK: memref.subview %[[X]]
// CHECK-SAME: memref<2x3xf32, strided<[8, 2]>> to memref<2x3xf32, strided<[8, 2], offset: ?>>
ark.program @operandsBeginAtOffsetZero() {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c192 = arith.constant 192 : index
  %0 = memref.view %arena[%c192][] : memref<256xi8> to memref<4x4xf32>
  %1 = memref.reinterpret_cast %0 to offset: [2], sizes: [2, 3], strides: [8, 2]
    : memref<4x4xf32> to memref<2x3xf32, strided<[8, 2], offset: 2>>
  %2 = memref.view %arena[%c0][] : memref<256xi8> to memref<2x3xf32>
  ark.task "square" grid [1]
      ins(%1[#ark.region<(d0) -> (0, 0), [2, 3]>] : memref<2x3xf32, strided<[8, 2], offset: 2>>)
      outs(%2[#ark.region<(d0) -> (0, 0), [2, 3]>] : memref<2x3xf32>) {
  ^bb0(%i: index, %a: memref<2x3xf32, strided<[8, 2], offset: ?>>, %b: memref<2x3xf32, strided<[3, 1], offset: ?>>):
    linalg.square ins(%a : memref<2x3xf32, strided<[8, 2], offset: ?>>) outs(%b : memref<2x3xf32, strided<[3, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The operands are disjoint parts of the arena.
// CHECK-LABEL: ark.program @disjointPartsOfTheArena
// CHECK: func.func private @body_square(
// CHECK-SAME: memref<16xf32> {llvm.noalias}, %{{[^:]+}}: memref<16xf32> {llvm.noalias})
ark.program @disjointPartsOfTheArena() {
  %arena = ark.arena : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %0 = memref.view %arena[%c0][] : memref<128xi8> to memref<16xf32>
  %1 = memref.view %arena[%c64][] : memref<128xi8> to memref<16xf32>
  ark.task "square" grid [1]
      ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.square ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// An operand that is written may alias one that is read; an unrelated operand
// is `noalias`.
// CHECK-LABEL: ark.program @inPlace
// CHECK: func.func private @body_add(
// CHECK-SAME: memref<4xi64>, %{{[^:]+}}: memref<16xf32>, %{{[^:]+}}: memref<16xf32> {llvm.noalias}, %{{[^:]+}}: memref<16xf32>)
ark.program @inPlace(
    %s: memref<16xf32> {ark.kind = #ark.kind<state>, ark.name = "s", ark.init = 0.0 : f32},
    %x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.task "add" grid [1]
      ins(%s[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%s[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>, %c: memref<16xf32, strided<[1], offset: ?>>):
    linalg.add ins(%a, %b : memref<16xf32, strided<[1], offset: ?>>, memref<16xf32, strided<[1], offset: ?>>) outs(%c : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Two operands that read one buffer do not conflict.
// CHECK-LABEL: ark.program @readTwice
// CHECK: func.func private @body_add(
// CHECK-SAME: memref<16xf32> {llvm.noalias}, %{{[^:]+}}: memref<16xf32> {llvm.noalias}, %{{[^:]+}}: memref<16xf32> {llvm.noalias})
ark.program @readTwice(
    %x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "add" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>, %c: memref<16xf32, strided<[1], offset: ?>>):
    linalg.add ins(%a, %b : memref<16xf32, strided<[1], offset: ?>>, memref<16xf32, strided<[1], offset: ?>>) outs(%c : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// MLIR finds no strides in a dense layout without elements, so such an operand
// cannot be a bare pointer.
// CHECK-LABEL: ark.program @operandsWithoutElements
// CHECK: func.func private @body_t(
// CHECK-SAME: memref<4x0xf32, strided<[0, 1]>>
// CHECK-SAME: memref<0x4xf32, strided<[4, 1]>>
ark.program @operandsWithoutElements(
    %x: memref<4x0xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<0x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 1]>] : memref<4x0xf32>)
      outs(%y[#ark.region<(d0) -> (0, 0), [1, 4]>] : memref<0x4xf32>) {
  ^bb0(%i: index, %a: memref<4x?xf32, strided<[0, 1], offset: ?>>, %b: memref<?x4xf32, strided<[4, 1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// Temporaries are allocated once per call: in the loop they would grow the stack.
// CHECK-LABEL: ark.program @temporariesOutsideOfTheLoop
// CHECK: func.func private @body_square(
// CHECK-NEXT: %[[T:.+]] = memref.alloca() {alignment = 64 : i64} : memref<16xf32>
// CHECK: scf.for
// CHECK-NOT: memref.alloca
// CHECK: linalg.square {{.+}} outs(%[[T]] : memref<16xf32>)
// CHECK-NOT: memref.alloca
// CHECK: return
ark.program @temporariesOutsideOfTheLoop(
    %x: memref<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "square" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() {alignment = 64} : memref<16xf32>
    linalg.square ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%t : memref<16xf32>)
    linalg.copy ins(%t : memref<16xf32>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The name of the function lists the ops of the body, and is a free symbol.
// CHECK-LABEL: func.func private @body_matmul_relu
// CHECK-LABEL: ark.program @namesOfBodies
// CHECK: ark.task "a"
// CHECK-SAME: ark.body = @body_matmul_relu_0
// CHECK: ark.task "layer 1/fc.{{.+}}" grid
// CHECK-SAME: ark.body = @body_layer_1_fc___}
// CHECK: ark.task "b"
// CHECK-SAME: ark.body = @body_max_sub_exp_sum,
// CHECK-DAG: func.func private @body_matmul_relu_0(
// CHECK-DAG: func.func private @body_layer_1_fc___(
// CHECK-DAG: func.func private @body_max_sub_exp_sum(
func.func private @body_matmul_relu()
ark.program @namesOfBodies() {
  ark.task "a" grid [1] ins() outs() attributes {ops = ["matmul", "relu"]} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "layer 1/fc.é" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs() attributes {ops = ["max", "sub", "exp", "sum", "div"]} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// -----

// On a GPU operands have an alignment: 16 bytes for buffers, and for a view the
// alignment of its offset, up to 16.
// CHECK-LABEL: ark.program @alignmentOfAGpusOperands
// CHECK: func.func private @body_square(
// CHECK-SAME: memref<8xf32> {llvm.align = 8 : i64, llvm.noalias}, %{{[^:]+}}: memref<8xf32> {llvm.align = 16 : i64, llvm.noalias})
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @alignmentOfAGpusOperands(
      %x: memref<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
      %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
    %part = memref.reinterpret_cast %x to offset: [2], sizes: [8], strides: [1] : memref<32xf32> to memref<8xf32, strided<[1], offset: 2>>
    ark.task "square" grid [1]
        ins(%part[#ark.region<(d0) -> (0), [8]>] : memref<8xf32, strided<[1], offset: 2>>)
        outs(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
    ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
      linalg.square ins(%a : memref<8xf32, strided<[1], offset: ?>>) outs(%b : memref<8xf32, strided<[1], offset: ?>>)
      ark.yield
    }
    ark.return
  }
}
