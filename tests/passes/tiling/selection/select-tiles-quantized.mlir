// Threads widen quantized weights for every row, so that a tile has 16 rows at most.
// RUN: ark-opt %s --ark-assign-target=target=cpu:4 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,CUDA

// CHECK-LABEL: ark.program @oneRow
ark.program @oneRow(
    %x: tensor<1x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x2048xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<4096x32xf16> {ark.kind = #ark.kind<parameter>, ark.name = "s"},
    %z: tensor<4096x32xi8> {ark.kind = #ark.kind<parameter>, ark.name = "z"})
    -> (tensor<1x4096xbf16> {ark.name = "y"}) {
  // CPU: tile = array<i64: 1, 1024>
  // CUDA: tile = array<i64: 1, {{[0-9]+}}>
  %0 = ark.group "g" (%a = %x, %b = %w, %c = %s, %d = %z)
      : (tensor<1x4096xbf16>, tensor<4096x2048xi8>, tensor<4096x32xf16>, tensor<4096x32xi8>) -> tensor<1x4096xbf16> {
    %1 = ark.quantized_matmul %a, %b scales %c zeros %d : (tensor<1x4096xbf16>, tensor<4096x2048xi8>, tensor<4096x32xf16>, tensor<4096x32xi8>) -> tensor<1x4096xbf16>
    ark.yield %1 : tensor<1x4096xbf16>
  }
  ark.return %0 : tensor<1x4096xbf16>
}

// CHECK-LABEL: ark.program @manyRows
ark.program @manyRows(
    %x: tensor<64x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<1024x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<1024x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"})
    -> (tensor<64x1024xbf16> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 16, {{[0-9]+}}>
  %0 = ark.group "g" (%a = %x, %b = %w, %c = %s)
      : (tensor<64x512xbf16>, tensor<1024x512xf8E4M3FN>, tensor<1024x1xf32>) -> tensor<64x1024xbf16> {
    %1 = ark.quantized_matmul %a, %b scales %c : (tensor<64x512xbf16>, tensor<1024x512xf8E4M3FN>, tensor<1024x1xf32>) -> tensor<64x1024xbf16>
    ark.yield %1 : tensor<64x1024xbf16>
  }
  ark.return %0 : tensor<64x1024xbf16>
}
