// RUN: ark-opt %s --ark-assign-target=target=cpu:4 \
// RUN:   --ark-select-tiles="row-bytes=65536 tiles-per-sm=1 matmul-m=24 matmul-n=48 attention-rows=16" | FileCheck %s

// CHECK-LABEL: ark.program @rowsOfAMatmul
ark.program @rowsOfAMatmul(
    %x: tensor<4096x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 24, 48>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32>
    ark.yield %1 : tensor<4096x4096xf32>
  }
  ark.return %0 : tensor<4096x4096xf32>
}

// CHECK-LABEL: ark.program @rowsOfAnAttention
ark.program @rowsOfAnAttention(
    %q: tensor<12x512x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<12x512x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<12x512x64xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 1, 16, 64>
  %0 = ark.group "g" (%a = %q, %b = %k)
      : (tensor<12x512x64xf32>, tensor<12x512x64xf32>) -> tensor<12x512x64xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<12x512x64xf32>, tensor<12x512x64xf32>, tensor<12x512x64xf32>) -> tensor<12x512x64xf32>
    ark.yield %1 : tensor<12x512x64xf32>
  }
  ark.return %0 : tensor<12x512x64xf32>
}

// There is room for ten rows of 6 KiB; eight divide the number of rows.
// CHECK-LABEL: ark.program @bytesOfARowOp
ark.program @bytesOfARowOp(
    %x: tensor<1024x768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1024x768xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 8, 768>
  %0 = ark.group "g" (%a = %x)
      : (tensor<1024x768xf32>) -> tensor<1024x768xf32> {
    %1 = ark.softmax %a axis = 1 : (tensor<1024x768xf32>) -> tensor<1024x768xf32>
    ark.yield %1 : tensor<1024x768xf32>
  }
  ark.return %0 : tensor<1024x768xf32>
}

// CHECK-LABEL: ark.program @oneTileForEverySM
ark.program @oneTileForEverySM(
    %x: tensor<4x2048xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x2048xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 1, 2048>
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x2048xf32>) -> tensor<4x2048xf32> {
    %1 = ark.exp %a : (tensor<4x2048xf32>) -> tensor<4x2048xf32>
    ark.yield %1 : tensor<4x2048xf32>
  }
  ark.return %0 : tensor<4x2048xf32>
}
