// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-select-tiles | FileCheck %s

// Attention of f32 stores its scores. The scores of a tile take at most half of a memory of 64 KB: 16 rows of 512 f32.
// The other half is for tables and other temporaries.
// CHECK-LABEL: ark.program @attention
// CHECK: tile = array<i64: 1, 1, 16, 64>
ark.program @attention(
    %q: tensor<1x8x512x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x8x512x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x8x512x64xf32> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x8x512x64xf32> {ark.name = "y"}) {
  %0 = ark.group "attention" (%a = %q, %b = %k, %c = %v)
      : (tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>) -> tensor<1x8x512x64xf32> {
    %1 = ark.attention %a, %b, %c scale = 1.25e-1
        : (tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>, tensor<1x8x512x64xf32>) -> tensor<1x8x512x64xf32>
    ark.yield %1 : tensor<1x8x512x64xf32>
  }
  ark.return %0 : tensor<1x8x512x64xf32>
}

// Attention of 16-bit floats stores no scores, so that a tile has more rows.
// CHECK-LABEL: ark.program @one_pass
// CHECK: tile = array<i64: 1, 1, 64, 64>
ark.program @one_pass(
    %q: tensor<1x8x512x64xf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x8x512x64xf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x8x512x64xf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x8x512x64xf16> {ark.name = "y"}) {
  %0 = ark.group "attention" (%a = %q, %b = %k, %c = %v)
      : (tensor<1x8x512x64xf16>, tensor<1x8x512x64xf16>, tensor<1x8x512x64xf16>) -> tensor<1x8x512x64xf16> {
    %1 = ark.attention %a, %b, %c scale = 1.25e-1
        : (tensor<1x8x512x64xf16>, tensor<1x8x512x64xf16>, tensor<1x8x512x64xf16>) -> tensor<1x8x512x64xf16>
    ark.yield %1 : tensor<1x8x512x64xf16>
  }
  ark.return %0 : tensor<1x8x512x64xf16>
}
