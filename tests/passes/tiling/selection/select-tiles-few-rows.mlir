// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_86 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM86
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM90

// Matrix units multiply eight rows, on 84 SMs and on 132. If no tile of eight columns or more
// gives equal shares, the time of the longest share decides, including an overhead per tile.

// CHECK-LABEL: ark.program @projections
ark.program @projections(
    %x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<8x2048xbf16> {ark.name = "y"}) {
  // SM86: tile = array<i64: 8, 32>
  // SM90: tile = array<i64: 8, 16>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16>
    ark.yield %1 : tensor<8x2048xbf16>
  }
  ark.return %0 : tensor<8x2048xbf16>
}

// CHECK-LABEL: ark.program @keysAndValues
ark.program @keysAndValues(
    %x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<512x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<8x512xbf16> {ark.name = "y"}) {
  // SM86: tile = array<i64: 8, 8>
  // SM90: tile = array<i64: 8, 4>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<8x2048xbf16>, tensor<512x2048xbf16>) -> tensor<8x512xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<512x2048xbf16>) -> tensor<8x512xbf16>
    ark.yield %1 : tensor<8x512xbf16>
  }
  ark.return %0 : tensor<8x512xbf16>
}

// CHECK-LABEL: ark.program @upAndGate
ark.program @upAndGate(
    %x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8192x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<8x8192xbf16> {ark.name = "y"}) {
  // SM86: tile = array<i64: 8, 64>
  // SM90: tile = array<i64: 8, 64>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16>
    ark.yield %1 : tensor<8x8192xbf16>
  }
  ark.return %0 : tensor<8x8192xbf16>
}

// Dot products of f32 are distributed over SMs by columns.
// CHECK-LABEL: ark.program @withoutMatrixUnits
ark.program @withoutMatrixUnits(
    %x: tensor<8x2048xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x2048xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<8x2048xf32> {ark.name = "y"}) {
  // SM86: tile = array<i64: 8, 1>
  // SM90: tile = array<i64: 8, 16>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<8x2048xf32>, tensor<2048x2048xf32>) -> tensor<8x2048xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xf32>, tensor<2048x2048xf32>) -> tensor<8x2048xf32>
    ark.yield %1 : tensor<8x2048xf32>
  }
  ark.return %0 : tensor<8x2048xf32>
}

// A gathered matrix is not streamed: a vCTA computes many columns
// of one matrix.
// CHECK-LABEL: ark.program @gatheredMatrices
ark.program @gatheredMatrices(
    %x: tensor<1x1x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<128x768x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %i: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<8x1x768xbf16> {ark.name = "y"}) {
  // SM86: tile = array<i64: 1, 1, 16>
  // SM90: tile = array<i64: 1, 1, 48>
  %0 = ark.group "g" (%a = %w, %b = %i, %c = %x)
      : (tensor<128x768x2048xbf16>, tensor<8xi32>, tensor<1x1x2048xbf16>) -> tensor<8x1x768xbf16> {
    %1 = ark.gather %a, %b axis = 0 : (tensor<128x768x2048xbf16>, tensor<8xi32>) -> tensor<8x768x2048xbf16>
    %2 = ark.matmul %c, %1 {transpose_other} : (tensor<1x1x2048xbf16>, tensor<8x768x2048xbf16>) -> tensor<8x1x768xbf16>
    ark.yield %2 : tensor<8x1x768xbf16>
  }
  ark.return %0 : tensor<8x1x768xbf16>
}
