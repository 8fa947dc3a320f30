// RUN: ark-opt %s --ark-select-tiles --ark-decompose --ark-fuse-elementwise --ark-tile-groups --ark-verify-tiling --mlir-print-local-scope | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {

// A vCTA has one index, which is its region of the indices. The region of the table covers all matrices, and the
// rows of the vCTA's columns; the vCTA reads rows of one matrix.
// CHECK-LABEL: ark.program @oneMatrixForAVCTA
// CHECK: ark.task "g" grid [3, 2] ins(
// CHECK-DAG: #ark.region<(d0, d1) -> (d0), [1]>
// CHECK-DAG: #ark.region<(d0, d1) -> (0, d1 * 32, 0), [5, 32, 64]>
// CHECK-SAME: outs(
// CHECK-SAME: #ark.region<(d0, d1) -> (d0, 0, d1 * 32), [1, 1, 32]>
// CHECK: %[[NUMBER:.+]] = tensor.extract %{{.+}}[%{{.+}}] : tensor<1xi32>
// CHECK: %[[INDEX:.+]] = arith.index_cast %[[NUMBER]] : i32 to index
// CHECK: %[[CHECKED:.+]] = ark.check_index %[[INDEX]]
// CHECK: tensor.extract_slice %{{.+}}[%[[CHECKED]], 0, 0] [1, 32, 64] [1, 1, 1] : tensor<5x32x64xbf16>
// CHECK: linalg.contract
// CHECK-NOT: ark.gather
ark.program @oneMatrixForAVCTA(
    %x: tensor<1x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %t: tensor<5x64x64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "t"},
    %i: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<3x1x64xbf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x, %b = %t, %c = %i) attributes {tile = array<i64: 3, 1, 32>}
      : (tensor<1x1x64xbf16>, tensor<5x64x64xbf16>, tensor<3xi32>) -> tensor<3x1x64xbf16> {
    %g = ark.gather %b, %c axis = 0 : (tensor<5x64x64xbf16>, tensor<3xi32>) -> tensor<3x64x64xbf16>
    %r = ark.matmul %a, %g {transpose_other} : (tensor<1x1x64xbf16>, tensor<3x64x64xbf16>) -> tensor<3x1x64xbf16>
    ark.yield %r : tensor<3x1x64xbf16>
  }
  ark.return %0 : tensor<3x1x64xbf16>
}

// One index selects the matrix of all rows, and matrices need not be transposed. Clipped tiles have clipped slices.
// CHECK-LABEL: ark.program @oneIndex
// CHECK: ark.task "g" grid [2, 2] ins(
// CHECK: %[[CHECKED:.+]] = ark.check_index
// CHECK: tensor.extract_slice %{{.+}}[%[[CHECKED]], 0, 0] [1, 40, %{{.+}}] [1, 1, 1] : tensor<5x40x?xf32>
ark.program @oneIndex(
    %x: tensor<4x3x40xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %t: tensor<5x40x50xf32> {ark.kind = #ark.kind<parameter>, ark.name = "t"},
    %i: tensor<1xi64> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<4x3x50xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x, %b = %t, %c = %i) attributes {tile = array<i64: 2, 3, 32>}
      : (tensor<4x3x40xf32>, tensor<5x40x50xf32>, tensor<1xi64>) -> tensor<4x3x50xf32> {
    %g = ark.gather %b, %c axis = 0 : (tensor<5x40x50xf32>, tensor<1xi64>) -> tensor<1x40x50xf32>
    %r = ark.matmul %a, %g : (tensor<4x3x40xf32>, tensor<1x40x50xf32>) -> tensor<4x3x50xf32>
    ark.yield %r : tensor<4x3x50xf32>
  }
  ark.return %0 : tensor<4x3x50xf32>
}
}
