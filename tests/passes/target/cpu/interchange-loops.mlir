// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(ark-interchange-loops))' | FileCheck %s

// CHECK-DAG: #[[$SWAPPED:.+]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-DAG: #[[$ROW:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @epilogueOfAColumnMajorResult
func.func @epilogueOfAColumnMajorResult(
    %b: memref<64xf32>, %c: memref<64x?xf32, strided<[1, 64]>>) {
  // CHECK: linalg.generic {indexing_maps = [#[[$ROW]], #[[$SWAPPED]]]
  linalg.generic {
    indexing_maps = [affine_map<(m, n) -> (m)>, affine_map<(m, n) -> (m, n)>],
    iterator_types = ["parallel", "parallel"]}
    ins(%b : memref<64xf32>) outs(%c : memref<64x?xf32, strided<[1, 64]>>) {
  ^bb0(%x: f32, %y: f32):
    %0 = arith.addf %y, %x : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// CHECK: #[[$SWAPPED:.+]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-LABEL: func.func @fillOfABatch
func.func @fillOfABatch(%x: f32, %c: memref<2x64x32xf32, strided<[2048, 1, 64]>>) {
  // CHECK: linalg.generic {indexing_maps = [#{{.+}}, #[[$SWAPPED]]]
  linalg.fill ins(%x : f32) outs(%c : memref<2x64x32xf32, strided<[2048, 1, 64]>>)
  return
}

// -----

// The index of a loop stays the index of its dimension.
// CHECK: #[[$SECOND:.+]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: func.func @indices
func.func @indices(%c: memref<8x4xindex, strided<[1, 8]>>) {
  // CHECK: %[[FIRST:.+]] = linalg.index 0 : index
  // CHECK: %[[LAST:.+]] = linalg.index 1 : index
  // CHECK: %[[ROW:.+]] = affine.apply #[[$SECOND]](%[[FIRST]], %[[LAST]])
  // CHECK: linalg.yield %[[ROW]]
  linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
    outs(%c : memref<8x4xindex, strided<[1, 8]>>) {
  ^bb0(%y: index):
    %0 = linalg.index 0 : index
    linalg.yield %0 : index
  }
  return
}

// -----

// Each loop has one contiguous operand, so the last loop stays the innermost one.
// CHECK-LABEL: func.func @transposeDoesNotChange
func.func @transposeDoesNotChange(%a: memref<8x4xf32>, %c: memref<8x4xf32, strided<[1, 8]>>) {
  // CHECK: linalg.copy
  linalg.copy ins(%a : memref<8x4xf32>) outs(%c : memref<8x4xf32, strided<[1, 8]>>)
  return
}

// -----

// The order of the additions determines the rounding, so the loops of a reduction stay.
// CHECK-LABEL: func.func @reductionDoesNotChange
func.func @reductionDoesNotChange(%a: memref<8x4xf32, strided<[1, 8]>>, %c: memref<4xf32>) {
  // CHECK: linalg.reduce
  linalg.reduce {arith.addf} ins(%a : memref<8x4xf32, strided<[1, 8]>>) outs(%c : memref<4xf32>) dimensions = [0]
  return
}
