// RUN: ark-opt %s --ark-decompose --ark-fuse-elementwise --ark-tile-groups --split-input-file --mlir-print-local-scope | FileCheck %s

// Tiles divide the rows. The last tile has fewer.
// CHECK-LABEL: ark.program @tilesOfRows
// CHECK: ark.task "n" grid [3]
// CHECK: ^bb0(%[[I:.+]]: index, %[[X:.+]]: tensor<?x64xbf16>, %[[W:.+]]: tensor<64xbf16>, %{{.+}}: tensor<?x64xbf16>):
// CHECK: %[[ROWS:.+]] = affine.min affine_map<(d0) -> (4, d0 * -4 + 10)>(%[[I]])
// CHECK: %[[S:.+]] = tensor.empty(%[[ROWS]]) : tensor<?xf32>
// CHECK: ark.row_norm ins(%[[X]], %[[W]] : tensor<?x64xbf16>, tensor<64xbf16>) outs(%{{.+}} : tensor<?x64xbf16>) scale(%[[S]] : tensor<?xf32>)
ark.program @tilesOfRows(
    %x: tensor<10x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<10x64xbf16> {ark.name = "y"}) {
  %0 = ark.group "n" (%a = %x, %b = %w) attributes {tile = array<i64: 4, 64>} : (tensor<10x64xbf16>, tensor<64xbf16>) -> tensor<10x64xbf16> {
    %r = ark.rmsnorm %a weight %b eps = 1.0e-5 : (tensor<10x64xbf16>, tensor<64xbf16>) -> tensor<10x64xbf16>
    ark.yield %r : tensor<10x64xbf16>
  }
  ark.return %0 : tensor<10x64xbf16>
}

// -----

// The op loses the row loops of extent one, and all outs their dimensions.
// CHECK-LABEL: ark.program @headsOfOneToken
// CHECK: ark.task "n" grid [8]
// CHECK: %[[M:.+]] = tensor.empty() : tensor<2xf32>
// CHECK: %[[S:.+]] = tensor.empty() : tensor<2xf32>
// CHECK: ark.row_norm ins(%{{.+}} : tensor<2x64xf32>) outs(%{{.+}} : tensor<2x64xf32>) mean(%{{.+}} : tensor<2xf32>) scale(%{{.+}} : tensor<2xf32>)
// CHECK-SAME: maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>]
ark.program @headsOfOneToken(
    %x: tensor<1x16x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x16x1x64xf32> {ark.name = "y"}) {
  %0 = ark.group "n" (%a = %x) attributes {tile = array<i64: 1, 2, 1, 64>} : (tensor<1x16x1x64xf32>) -> tensor<1x16x1x64xf32> {
    %r = ark.layernorm %a eps = 1.0e-5 : (tensor<1x16x1x64xf32>) -> tensor<1x16x1x64xf32>
    ark.yield %r : tensor<1x16x1x64xf32>
  }
  ark.return %0 : tensor<1x16x1x64xf32>
}

// -----

// Tiles of columns compute whole rows, and take their columns.
// CHECK-LABEL: ark.program @columnsOfRows
// CHECK: ark.task "n" grid [2]
// CHECK: %[[R:.+]]:2 = ark.row_norm ins(%{{.+}} : tensor<4x64xf32>) outs(%{{.+}} : tensor<4x64xf32>)
// CHECK: tensor.extract_slice %[[R]]#0[0, %{{.+}}] [4, 32] [1, 1]
ark.program @columnsOfRows(
    %x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x64xf32> {ark.name = "y"}) {
  %0 = ark.group "n" (%a = %x) attributes {tile = array<i64: 4, 32>} : (tensor<4x64xf32>) -> tensor<4x64xf32> {
    %r = ark.rmsnorm %a eps = 1.0e-5 : (tensor<4x64xf32>) -> tensor<4x64xf32>
    ark.yield %r : tensor<4x64xf32>
  }
  ark.return %0 : tensor<4x64xf32>
}
