// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-select-tiles | FileCheck %s

// The matrix instructions of gfx942 keep accumulators in registers, and the result of a listed tile does not fit into
// shared memory. So only products whose readers are elementwise take such a tile.

// CHECK-LABEL: ark.program @products
ark.program @products(
    %x: tensor<4096x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %f: tensor<4096x4096xf32> {ark.kind = #ark.kind<input>, ark.name = "f"})
    -> (tensor<4096x4096xbf16> {ark.name = "a"}, tensor<4096x4096xbf16> {ark.name = "b"},
        tensor<4096x4096xbf16> {ark.name = "c"}, tensor<4096x4096xf32> {ark.name = "d"}) {
  // CHECK: ark.group "elementwise"
  // CHECK-SAME: tile = array<i64: 256, 128>
  %0 = ark.group "elementwise" (%a = %x, %b = %w) : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %4 = ark.matmul %a, %b {transpose_other} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %5 = ark.relu %4 : (tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %5 : tensor<4096x4096xbf16>
  }
  // CHECK: ark.group "two_products"
  // CHECK-SAME: tile = array<i64: 128, 128>
  %1 = ark.group "two_products" (%a = %x, %b = %w) : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %4 = ark.matmul %a, %b {transpose_other} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %5 = ark.matmul %b, %a {transpose_other} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    %6 = ark.add %4, %5 : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %6 : tensor<4096x4096xbf16>
  }
  // Rows of the right operand may lie across K.
  // CHECK: ark.group "across"
  // CHECK-SAME: tile = array<i64: 256, 128>
  %2 = ark.group "across" (%a = %x, %b = %w) : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %4 = ark.matmul %a, %b : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %4 : tensor<4096x4096xbf16>
  }
  // Products of f32 have no matrix instructions.
  // CHECK: ark.group "f32"
  // CHECK-NOT: tile = array<i64: 256, 128>
  // CHECK: ark.return
  %3 = ark.group "f32" (%a = %f) : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %4 = ark.matmul %a, %a {transpose_other} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    ark.yield %4 : tensor<4096x4096xf32>
  }
  ark.return %0, %1, %2, %3 : tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xbf16>, tensor<4096x4096xf32>
}
