// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s
// Targets without such matrix units have tiles of other sizes.
// RUN: ark-opt %s --ark-assign-target=target=cpu:8 --ark-select-tiles | FileCheck %s --check-prefix=CPU

// Four rows of 56 columns take 256 columns of a stage: 112 tiles for 132 SMs.
// CHECK-LABEL: ark.program @rowsOf56
// CHECK: tile = array<i64: 1, 64, 4, 56>
// CPU-LABEL: ark.program @rowsOf56
// CPU: ark.group "g"
ark.program @rowsOf56(
    %f: tensor<64x64x3x3xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"},
    %x: tensor<8x64x174x56xf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64x56x56xf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %f, %b = %x) : (tensor<64x64x3x3xf16>, tensor<8x64x174x56xf16>) -> tensor<8x64x56x56xf16> {
    %r = ark.convolution %a, %b stride = 3 dilation = 3
        : (tensor<64x64x3x3xf16>, tensor<8x64x174x56xf16>) -> tensor<8x64x56x56xf16>
    ark.yield %r : tensor<8x64x56x56xf16>
  }
  ark.return %0 : tensor<8x64x56x56xf16>
}

// A row of 7 columns takes 8 columns of a stage.
// CHECK-LABEL: ark.program @rowsOf7
// CHECK: tile = array<i64: 1, 64, 7, 7>
ark.program @rowsOf7(
    %f: tensor<512x512x3x3xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"},
    %x: tensor<8x512x27x7xf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x512x7x7xf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %f, %b = %x) : (tensor<512x512x3x3xf16>, tensor<8x512x27x7xf16>) -> tensor<8x512x7x7xf16> {
    %r = ark.convolution %a, %b stride = 3 dilation = 3
        : (tensor<512x512x3x3xf16>, tensor<8x512x27x7xf16>) -> tensor<8x512x7x7xf16>
    ark.yield %r : tensor<8x512x7x7xf16>
  }
  ark.return %0 : tensor<8x512x7x7xf16>
}

// A depth of 36 is no multiple of a stage, and threads compute sums of any tile.
// CHECK-LABEL: ark.program @threads
// CHECK: tile = array<i64: 1, 2, 56, 56>
ark.program @threads(
    %f: tensor<64x4x3x3xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"},
    %x: tensor<8x4x174x56xf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64x56x56xf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %f, %b = %x) : (tensor<64x4x3x3xf16>, tensor<8x4x174x56xf16>) -> tensor<8x64x56x56xf16> {
    %r = ark.convolution %a, %b stride = 3 dilation = 3
        : (tensor<64x4x3x3xf16>, tensor<8x4x174x56xf16>) -> tensor<8x64x56x56xf16>
    ark.yield %r : tensor<8x64x56x56xf16>
  }
  ark.return %0 : tensor<8x64x56x56xf16>
}
