// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// The rows of the elements of a window follow one another. Sums are f32.
// CHECK-LABEL: ark.program @convolution
// CHECK: ark.group "g" (%[[F:.+]] = %{{.+}}, %[[X:.+]] = %{{.+}})
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d1, d4, d5, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d4, d2 * 6 + d5 * 3 + d6, d3)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d3)>]
// CHECK-SAME: iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
// CHECK-SAME: ins(%[[F]], %[[X]] : tensor<16x64x3x3xf16>, tensor<2x64x30x8xf16>) outs(%{{.+}} : tensor<2x16x4x8xf32>)
// CHECK: arith.mulf %{{.+}}, %{{.+}} : f32
// CHECK: arith.addf %{{.+}}, %{{.+}} : f32
ark.program @convolution(
    %f: tensor<16x64x3x3xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"},
    %x: tensor<2x64x30x8xf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x16x4x8xf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %f, %b = %x) : (tensor<16x64x3x3xf16>, tensor<2x64x30x8xf16>) -> tensor<2x16x4x8xf16> {
    %r = ark.convolution %a, %b stride = 6 dilation = 3
        : (tensor<16x64x3x3xf16>, tensor<2x64x30x8xf16>) -> tensor<2x16x4x8xf16>
    ark.yield %r : tensor<2x16x4x8xf16>
  }
  ark.return %0 : tensor<2x16x4x8xf16>
}

// Each group of channels has filters of its own.
// CHECK-LABEL: ark.program @groups
// CHECK: linalg.generic {indexing_maps = [
// CHECK-SAME: ins(%{{.+}}, %{{.+}} : tensor<2x8x4x3x2xbf16>, tensor<5x2x4x24x13xbf16>) outs(%{{.+}} : tensor<5x2x8x5x13xf32>)
ark.program @groups(
    %f: tensor<2x8x4x3x2xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"},
    %x: tensor<5x2x4x24x13xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<5x2x8x5x13xbf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %f, %b = %x) : (tensor<2x8x4x3x2xbf16>, tensor<5x2x4x24x13xbf16>) -> tensor<5x2x8x5x13xbf16> {
    %r = ark.convolution %a, %b stride = 4 dilation = 2
        : (tensor<2x8x4x3x2xbf16>, tensor<5x2x4x24x13xbf16>) -> tensor<5x2x8x5x13xbf16>
    ark.yield %r : tensor<5x2x8x5x13xbf16>
  }
  ark.return %0 : tensor<5x2x8x5x13xbf16>
}
