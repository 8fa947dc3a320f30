// RUN: ark-opt %s --split-input-file \
// RUN:   --pass-pipeline='builtin.module(func.func(ark-vectorize-contractions{vector-elements=16}))' | FileCheck %s

// Columns of the right operand are contiguous, so whole blocks need no panel.
// CHECK-LABEL: func.func @rowMajorProductKeepsABlockInRegisters
func.func @rowMajorProductKeepsABlockInRegisters(
    %a: memref<16x24xf32>, %b: memref<24x64xf32>, %c: memref<16x64xf32>) {
  // CHECK-NOT: memref.alloca
  // CHECK-NOT: vector.maskedload
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-COUNT-16: vector.load %{{.+}} : memref<16x64xf32>, vector<16xf32>
  // CHECK: scf.for
  // CHECK-COUNT-2: vector.load %{{.+}} : memref<24x64xf32>, vector<16xf32>
  // CHECK-COUNT-16: vector.fma
  // CHECK-NOT: linalg.matmul
  linalg.matmul ins(%a, %b : memref<16x24xf32>, memref<24x64xf32>) outs(%c : memref<16x64xf32>)
  return
}

// -----

// A weight stored [out, in] is transposed once for all rows.
// CHECK-LABEL: func.func @transposedWeightIsCopiedToAPanel
func.func @transposedWeightIsCopiedToAPanel(
    %a: memref<16x24xf32>, %b: memref<32x24xf32>, %c: memref<16x32xf32>) {
  // CHECK: %[[PANEL:.+]] = memref.alloca() {alignment = 64 : i64} : memref<24x32xf32>
  // CHECK: vector.transpose %{{.+}}, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
  // CHECK: vector.load %[[PANEL]]
  linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<16x24xf32>, memref<32x24xf32>) outs(%c : memref<16x32xf32>) {
  ^bb0(%x: f32, %y: f32, %z: f32):
    %0 = arith.mulf %x, %y : f32
    %1 = arith.addf %z, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

// A single row reads every weight once, in dot products; k = 40 leaves a masked remainder.
// CHECK-LABEL: func.func @fewRowsBecomeDotProducts
func.func @fewRowsBecomeDotProducts(
    %a: memref<1x40xbf16>, %b: memref<8x40xbf16>, %c: memref<1x8xf32>) {
  // CHECK: arith.extf %{{.+}} : vector<16xbf16> to vector<16xf32>
  // CHECK: vector.maskedload
  // CHECK-COUNT-4: vector.reduction <add>, %{{.+}} fastmath<reassoc> : vector<16xf32> into f32
  linalg.generic {
    indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%a, %b : memref<1x40xbf16>, memref<8x40xbf16>) outs(%c : memref<1x8xf32>) {
  ^bb0(%x: bf16, %y: bf16, %z: f32):
    %0 = arith.extf %x : bf16 to f32
    %1 = arith.extf %y : bf16 to f32
    %2 = arith.mulf %0, %1 : f32
    %3 = arith.addf %z, %2 : f32
    linalg.yield %3 : f32
  }
  return
}

// -----

// The last columns of a ragged tile are masked.
// CHECK-LABEL: func.func @raggedColumnsAreMasked
func.func @raggedColumnsAreMasked(
    %a: memref<8x24xf32>, %b: memref<24x?xf32>, %c: memref<8x?xf32>) {
  // CHECK: vector.create_mask
  // CHECK: vector.maskedload
  // CHECK: vector.maskedstore
  linalg.matmul ins(%a, %b : memref<8x24xf32>, memref<24x?xf32>) outs(%c : memref<8x?xf32>)
  return
}

// -----

// Integer products are exact in any order; LLVM vectorises them.
// CHECK-LABEL: func.func @integersDoNotChange
func.func @integersDoNotChange(%a: memref<8x24xi32>, %b: memref<24x8xi32>, %c: memref<8x8xi32>) {
  // CHECK: linalg.matmul
  linalg.matmul ins(%a, %b : memref<8x24xi32>, memref<24x8xi32>) outs(%c : memref<8x8xi32>)
  return
}

// -----

// The result is contiguous along the loop of neither operand.
// CHECK-LABEL: func.func @stridedResultDoesNotChange
func.func @stridedResultDoesNotChange(%a: memref<8x24xf32>, %b: memref<24x8xf32>,
                               %c: memref<8x8xf32, strided<[32, 2]>>) {
  // CHECK: linalg.matmul
  linalg.matmul ins(%a, %b : memref<8x24xf32>, memref<24x8xf32>) outs(%c : memref<8x8xf32, strided<[32, 2]>>)
  return
}

// -----

// Both operands are read as they are stored. Squares of the sums are transposed
// in registers and added to the result.
// CHECK-LABEL: func.func @transposedResultIsTransposedInRegisters
func.func @transposedResultIsTransposedInRegisters(
    %a: memref<16x24xf32>, %b: memref<24x32xf32>, %c: memref<16x32xf32, strided<[1, 16]>>) {
  // CHECK-COUNT-1: memref.alloca() {alignment = 64 : i64} : memref<16x32xf32>
  // CHECK-NOT: memref.alloca
  // CHECK: %[[C:.+]] = memref.transpose %{{.+}} (d0, d1) -> (d1, d0) : {{.+}} to memref<32x16xf32, strided<[16, 1]>>
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-COUNT-16: vector.fma
  // CHECK-COUNT-2: vector.transpose %{{.+}}, [1, 0] : vector<16x16xf32> to vector<16x16xf32>
  // CHECK-NOT: vector.maskedstore
  // CHECK: return
  linalg.matmul ins(%a, %b : memref<16x24xf32>, memref<24x32xf32>)
      outs(%c : memref<16x32xf32, strided<[1, 16]>>)
  return
}

// -----

// Rows and columns of a square that do not exist are masked.
// CHECK-LABEL: func.func @raggedTransposedResultIsMasked
func.func @raggedTransposedResultIsMasked(
    %a: memref<?x24xf32>, %b: memref<24x?xf32>, %c: memref<?x?xf32, strided<[1, 100]>>) {
  // CHECK: vector.create_mask %{{.+}}, %{{.+}} : vector<16x16xi1>
  // CHECK: vector.maskedstore {{.+}} : memref<?x?xf32, strided<[100, 1]>>
  // CHECK-NOT: linalg.matmul
  linalg.matmul ins(%a, %b : memref<?x24xf32>, memref<24x?xf32>)
      outs(%c : memref<?x?xf32, strided<[1, 100]>>)
  return
}

// -----

// Few columns do not fill the vectors: rows of the result become columns.
// CHECK-LABEL: func.func @fewColumnsOfATransposedResultNeedAPanel
func.func @fewColumnsOfATransposedResultNeedAPanel(
    %a: memref<32x24xf32>, %b: memref<24x8xf32>, %c: memref<32x8xf32, strided<[1, 32]>>) {
  // CHECK: memref.alloca() {alignment = 64 : i64} : memref<24x32xf32>
  // CHECK-NOT: linalg.matmul
  // CHECK: vector.store %{{.+}} : memref<8x32xf32, strided<[32, 1]>>, vector<16xf32>
  linalg.matmul ins(%a, %b : memref<32x24xf32>, memref<24x8xf32>)
      outs(%c : memref<32x8xf32, strided<[1, 32]>>)
  return
}

// -----

// Operands that both lie across the loops of a row-major result need no panel.
// CHECK-LABEL: func.func @transposedOperandsAreTransposedAfterTheSum
func.func @transposedOperandsAreTransposedAfterTheSum(
    %a: memref<24x32xf32>, %b: memref<16x24xf32>, %c: memref<32x16xf32>) {
  // CHECK-COUNT-1: memref.alloca() {alignment = 64 : i64} : memref<16x32xf32>
  // CHECK-NOT: memref.alloca
  // CHECK: vector.load %{{.+}} : memref<24x32xf32>, vector<16xf32>
  // CHECK: vector.store %{{.+}} : memref<32x16xf32>, vector<16xf32>
  linalg.contract
      indexing_maps = [affine_map<(m, n, k) -> (k, m)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
      ins(%a, %b : memref<24x32xf32>, memref<16x24xf32>) outs(%c : memref<32x16xf32>)
  return
}

// -----

// An operand in another order of dimensions, in a batch.
// CHECK-LABEL: func.func @columnMajorOperandIsReadAsVectors
func.func @columnMajorOperandIsReadAsVectors(
    %a: memref<2x16x24xf32>, %b: memref<2x32x24xf32, strided<[768, 1, 32]>>, %c: memref<2x16x32xf32>) {
  // CHECK: memref.transpose %{{.+}} (d0, d1, d2) -> (d0, d2, d1) : {{.+}} to memref<2x24x32xf32, strided<[768, 32, 1]>>
  // CHECK: vector.load %{{.+}} : memref<2x24x32xf32, strided<[768, 32, 1]>>, vector<16xf32>
  linalg.contract
      indexing_maps = [affine_map<(b, m, n, k) -> (b, m, k)>, affine_map<(b, m, n, k) -> (b, n, k)>, affine_map<(b, m, n, k) -> (b, m, n)>]
      ins(%a, %b : memref<2x16x24xf32>, memref<2x32x24xf32, strided<[768, 1, 32]>>)
      outs(%c : memref<2x16x32xf32>)
  return
}
