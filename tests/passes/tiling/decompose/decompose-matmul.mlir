// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: ark.program @matmulIsAContraction
ark.program @matmulIsAContraction(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x16xf32> {ark.name = "y"}) {
  // CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK: %[[INIT:.+]] = linalg.fill ins(%[[ZERO]] : f32)
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
  // CHECK-SAME: outs(%[[INIT]] : tensor<4x16xf32>)
  // CHECK-NEXT: ^bb0(%[[A:.+]]: f32, %[[B:.+]]: f32, %[[ACC:.+]]: f32):
  // CHECK-NEXT: %[[P:.+]] = arith.mulf %[[A]], %[[B]]
  // CHECK-NEXT: arith.addf %[[ACC]], %[[P]]
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> {
    %r = ark.matmul %a, %b : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    ark.yield %r : tensor<4x16xf32>
  }
  ark.return %0 : tensor<4x16xf32>
}

// CHECK-LABEL: ark.program @transposedOperandsAreReadThroughTheirMaps
ark.program @transposedOperandsAreReadThroughTheirMaps(
    %x: tensor<8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<16x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x16xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d2, d0)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<8x4xf32>, tensor<16x8xf32>) -> tensor<4x16xf32> {
    %r = ark.matmul %a, %b {transpose_input, transpose_other} : (tensor<8x4xf32>, tensor<16x8xf32>) -> tensor<4x16xf32>
    ark.yield %r : tensor<4x16xf32>
  }
  ark.return %0 : tensor<4x16xf32>
}

// CHECK-LABEL: ark.program @leadingDimensionsBroadcast
ark.program @leadingDimensionsBroadcast(
    %x: tensor<3x1x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<5x8x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<3x5x4x16xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, 0, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d4, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3)>]
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<3x1x4x8xf32>, tensor<5x8x16xf32>) -> tensor<3x5x4x16xf32> {
    %r = ark.matmul %a, %b : (tensor<3x1x4x8xf32>, tensor<5x8x16xf32>) -> tensor<3x5x4x16xf32>
    ark.yield %r : tensor<3x5x4x16xf32>
  }
  ark.return %0 : tensor<3x5x4x16xf32>
}

// Operands are loaded in their own types, and accumulated in f32.
// CHECK-LABEL: ark.program @narrowOperandsAreConvertedInRegisters
ark.program @narrowOperandsAreConvertedInRegisters(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<16x8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x16xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[A:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}})
  // CHECK: linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<4x8xbf16>, tensor<16x8xbf16>) outs(%{{.+}} : tensor<4x16xf32>)
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.extf
  // CHECK-NEXT: arith.mulf %{{.+}} : f32
  // CHECK-NEXT: arith.addf %{{.+}} : f32
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<4x8xbf16>, tensor<16x8xbf16>) -> tensor<4x16xbf16>
    ark.yield %r : tensor<4x16xbf16>
  }
  ark.return %0 : tensor<4x16xbf16>
}

// CHECK-LABEL: ark.program @unsignedIntegersWrap
ark.program @unsignedIntegersWrap(
    %x: tensor<4x8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x4xui8> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x4xui8> {ark.name = "y"}) {
  // CHECK: linalg.generic {{.*}} ins(%{{.+}}, %{{.+}} : tensor<4x8xi8>, tensor<8x4xi8>)
  // CHECK: arith.muli %{{.+}} : i8
  // CHECK: arith.addi %{{.+}} : i8
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4x8xui8>, tensor<8x4xui8>) -> tensor<4x4xui8> {
    %r = ark.matmul %a, %b : (tensor<4x8xui8>, tensor<8x4xui8>) -> tensor<4x4xui8>
    ark.yield %r : tensor<4x4xui8>
  }
  ark.return %0 : tensor<4x4xui8>
}

// CHECK-LABEL: ark.program @epilogueReadsTheWideSum
ark.program @epilogueReadsTheWideSum(
    %x: tensor<4x8xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<16x8xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %bias: tensor<16xf16> {ark.kind = #ark.kind<parameter>, ark.name = "bias"})
    -> (tensor<4x16xf16> {ark.name = "y"}) {
  // CHECK: %[[ACC:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<4x16xf32>)
  // CHECK-NOT: arith.truncf
  // CHECK: linalg.generic {{.*}} ins(%[[ACC]], %{{.+}} : tensor<4x16xf32>, tensor<16xf32>)
  // CHECK: arith.truncf
  %0 = ark.group "g" (%a = %x, %b = %w, %c = %bias)
      : (tensor<4x8xf16>, tensor<16x8xf16>, tensor<16xf16>) -> tensor<4x16xf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4x8xf16>, tensor<16x8xf16>) -> tensor<4x16xf16>
    %r = ark.add %1, %c : (tensor<4x16xf16>, tensor<16xf16>) -> tensor<4x16xf16>
    ark.yield %r : tensor<4x16xf16>
  }
  ark.return %0 : tensor<4x16xf16>
}

// Operands of i8 are extended, and their products are added in i32.
// CHECK-LABEL: ark.program @sumsOfIntegers
ark.program @sumsOfIntegers(
    %x: tensor<4x8xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x16xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x16xi32> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[A:.+]]: i8, %[[B:.+]]: i8, %[[ACC:.+]]: i32):
  // CHECK-NEXT: %[[X:.+]] = arith.extsi %[[A]] : i8 to i32
  // CHECK-NEXT: %[[Y:.+]] = arith.extsi %[[B]] : i8 to i32
  // CHECK-NEXT: %[[P:.+]] = arith.muli %[[X]], %[[Y]] : i32
  // CHECK-NEXT: arith.addi %[[ACC]], %[[P]] : i32
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4x8xi8>, tensor<8x16xi8>) -> tensor<4x16xi32> {
    %r = ark.matmul %a, %b : (tensor<4x8xi8>, tensor<8x16xi8>) -> tensor<4x16xi32>
    ark.yield %r : tensor<4x16xi32>
  }
  ark.return %0 : tensor<4x16xi32>
}
