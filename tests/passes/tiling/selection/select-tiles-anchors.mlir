// RUN: ark-opt %s --ark-assign-target=target=cpu:4 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,CUDA

// CHECK-LABEL: ark.program @tilesOfAnArgmaxDivideItsResult
ark.program @tilesOfAnArgmaxDivideItsResult(
    %x: tensor<1024x768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1024xi32> {ark.name = "out"}) {
  // CPU: tile = array<i64: 8>
  // CUDA: tile = array<i64: 4>
  %0 = ark.group "g" (%a = %x)
      : (tensor<1024x768xf32>) -> tensor<1024xi32> {
    %1 = ark.argmax %a axis = 1 : (tensor<1024x768xf32>) -> tensor<1024xi32>
    ark.yield %1 : tensor<1024xi32>
  }
  ark.return %0 : tensor<1024xi32>
}

// CHECK-LABEL: ark.program @thresholdOfOneRow
ark.program @thresholdOfOneRow(
    %x: tensor<8x4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8x1xf32> {ark.name = "out"}) {
  // CHECK: tile = array<i64: 1, 1>
  %0 = ark.group "g" (%a = %x, %b = %y, %c = %z)
      : (tensor<8x4096xf32>, tensor<i32>, tensor<f32>) -> tensor<8x1xf32> {
    %1 = ark.top_threshold %a k = %b p = %c : (tensor<8x4096xf32>, tensor<i32>, tensor<f32>) -> tensor<8x1xf32>
    ark.yield %1 : tensor<8x1xf32>
  }
  ark.return %0 : tensor<8x1xf32>
}

// CHECK-LABEL: ark.program @ropeTakesWholeRows
ark.program @ropeTakesWholeRows(
    %x: tensor<64x32x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<64x1x32xf32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: tensor<64x1x32xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<64x32x64xf32> {ark.name = "out"}) {
  // CPU: tile = array<i64: 2, 32, 64>
  // CUDA: tile = array<i64: 1, 8, 64>
  %0 = ark.group "g" (%a = %x, %b = %y, %c = %z)
      : (tensor<64x32x64xf32>, tensor<64x1x32xf32>, tensor<64x1x32xf32>) -> tensor<64x32x64xf32> {
    %1 = ark.rope %a, %b, %c : (tensor<64x32x64xf32>, tensor<64x1x32xf32>, tensor<64x1x32xf32>) -> tensor<64x32x64xf32>
    ark.yield %1 : tensor<64x32x64xf32>
  }
  ark.return %0 : tensor<64x32x64xf32>
}

// CHECK-LABEL: ark.program @layernormTakesWholeRows
ark.program @layernormTakesWholeRows(
    %x: tensor<64x1024xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<64x1024xf32> {ark.name = "out"}) {
  // CPU: tile = array<i64: 4, 1024>
  // CUDA: tile = array<i64: 1, 1024>
  %0 = ark.group "g" (%a = %x)
      : (tensor<64x1024xf32>) -> tensor<64x1024xf32> {
    %1 = ark.layernorm %a eps = 1.0e-5 : (tensor<64x1024xf32>) -> tensor<64x1024xf32>
    ark.yield %1 : tensor<64x1024xf32>
  }
  ark.return %0 : tensor<64x1024xf32>
}

// CHECK-LABEL: ark.program @combinationTakesWholeRows
ark.program @combinationTakesWholeRows(
    %x: tensor<32x64x16x66xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<32x64x64xf32> {ark.name = "out"}) {
  // CHECK: tile = array<i64: 1, 4, 64>
  %0 = ark.group "g" (%a = %x)
      : (tensor<32x64x16x66xf32>) -> tensor<32x64x64xf32> {
    %1 = ark.combine_attention %a : (tensor<32x64x16x66xf32>) -> tensor<32x64x64xf32>
    ark.yield %1 : tensor<32x64x64xf32>
  }
  ark.return %0 : tensor<32x64x64xf32>
}

// CHECK-LABEL: ark.program @everyPartitionIsATile
ark.program @everyPartitionIsATile(
    %x: tensor<8x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<8x256x16x64xf32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: tensor<8x256x16x64xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8x1x16x66xf32> {ark.name = "out"}) {
  // CHECK: tile = array<i64: 1, 1, 1, 66>
  %0 = ark.group "g" (%a = %x, %b = %y, %c = %z)
      : (tensor<8x1x64xf32>, tensor<8x256x16x64xf32>, tensor<8x256x16x64xf32>) -> tensor<8x1x16x66xf32> {
    %1 = ark.partial_attention %a, %b, %c scale = 0.125 : (tensor<8x1x64xf32>, tensor<8x256x16x64xf32>, tensor<8x256x16x64xf32>) -> tensor<8x1x16x66xf32>
    ark.yield %1 : tensor<8x1x16x66xf32>
  }
  ark.return %0 : tensor<8x1x16x66xf32>
}

// CHECK-LABEL: ark.program @tilesDoNotDependOnTheSizeOfATable
ark.program @tilesDoNotDependOnTheSizeOfATable(
    %x: tensor<16384x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<64xi32> {ark.kind = #ark.kind<input>, ark.name = "y"})
    -> (tensor<64x64xf32> {ark.name = "out"}) {
  // CHECK: tile = array<i64: 4, 64>
  %0 = ark.group "g" (%a = %x, %b = %y)
      : (tensor<16384x64xf32>, tensor<64xi32>) -> tensor<64x64xf32> {
    %1 = ark.gather %a, %b axis = 0 : (tensor<16384x64xf32>, tensor<64xi32>) -> tensor<64x64xf32>
    ark.yield %1 : tensor<64x64xf32>
  }
  ark.return %0 : tensor<64x64xf32>
}

// CHECK-LABEL: ark.program @rowsOfAnEmbeddingAreTiled
ark.program @rowsOfAnEmbeddingAreTiled(
    %x: tensor<4096xi32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<128x64xf32> {ark.kind = #ark.kind<input>, ark.name = "y"})
    -> (tensor<4096x64xf32> {ark.name = "out"}) {
  // CPU: tile = array<i64: 64, 64>
  // CUDA: tile = array<i64: 16, 64>
  %0 = ark.group "g" (%a = %x, %b = %y)
      : (tensor<4096xi32>, tensor<128x64xf32>) -> tensor<4096x64xf32> {
    %1 = ark.embedding %a, %b : (tensor<4096xi32>, tensor<128x64xf32>) -> tensor<4096x64xf32>
    ark.yield %1 : tensor<4096x64xf32>
  }
  ark.return %0 : tensor<4096x64xf32>
}

// CHECK-LABEL: ark.program @tilesDoNotDependOnTheSizeOfAState
ark.program @tilesDoNotDependOnTheSizeOfAState(
    %x: tensor<65536x64xf32> {ark.kind = #ark.kind<state>, ark.name = "x"},
    %y: tensor<64x64xf32> {ark.kind = #ark.kind<input>, ark.name = "y"}) {
  // CHECK: tile = array<i64: 4, 64>
  %0 = ark.group "g" (%a = %x, %b = %y)
      : (tensor<65536x64xf32>, tensor<64x64xf32>) -> tensor<65536x64xf32> {
    %1 = ark.update %b into %a [0, 0] : (tensor<65536x64xf32>, tensor<64x64xf32>) -> tensor<65536x64xf32>
    ark.yield %1 : tensor<65536x64xf32>
  }
  ark.return
}
