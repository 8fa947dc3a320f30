// RUN: ark-opt %s --ark-tile-groups --ark-verify-tiling --split-input-file | FileCheck %s
// The pass leaves tiled tasks as they are.
// RUN: ark-opt %s --ark-tile-groups --ark-tile-groups --split-input-file | FileCheck %s

// CHECK-LABEL: ark.program @tilesOfAnElementwiseGroup
// CHECK-SAME: (%[[X:.+]]: tensor<32x8xf32> {{.*}})
ark.program @tilesOfAnElementwiseGroup(
    %x: tensor<32x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<32x8xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[E:.+]] = tensor.empty() : tensor<32x8xf32>
  // CHECK-NEXT: %[[T:.+]] = ark.task "act" grid [2]
  // CHECK-SAME:   ins(%[[X]][#ark.region<(d0) -> (d0 * 16, 0), [16, 8]>] : tensor<32x8xf32>)
  // CHECK-SAME:   outs(%[[E]][#ark.region<(d0) -> (d0 * 16, 0), [16, 8]>] : tensor<32x8xf32>)
  // CHECK-SAME:   attributes {ops = ["exp"]}
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %[[A:.+]]: tensor<16x8xf32>, %[[O:.+]]: tensor<16x8xf32>):
  // CHECK-NEXT:   %[[R:.+]] = linalg.generic {{.*}} ins(%[[A]] : tensor<16x8xf32>) outs(%[[O]] : tensor<16x8xf32>)
  // CHECK:        ark.yield %[[R]] : tensor<16x8xf32>
  // CHECK-NEXT: } : tensor<32x8xf32>
  // CHECK-NEXT: ark.return %[[T]]
  %0 = ark.group "act" (%a = %x) attributes {ops = ["exp"], tile = array<i64: 16, 8>} : (tensor<32x8xf32>) -> tensor<32x8xf32> {
    %1 = tensor.empty() : tensor<32x8xf32>
    %2 = linalg.generic {
        indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<32x8xf32>) outs(%1 : tensor<32x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %3 = math.exp %in : f32
      linalg.yield %3 : f32
    } -> tensor<32x8xf32>
    ark.yield %2 : tensor<32x8xf32>
  }
  ark.return %0 : tensor<32x8xf32>
}

// -----

// An op with two destinations must not send the pass into an endless loop.

// CHECK-LABEL: ark.program @twoDestinationsOfOneOp
// CHECK: ark.task "least" grid [1]
// CHECK: arith.minui
ark.program @twoDestinationsOfOneOp(
    %x: tensor<i8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<i8> {ark.name = "y"}) {
  %0 = ark.group "least" (%a = %x) attributes {ops = ["reduce_min"], tile = array<i64>} : (tensor<i8>) -> tensor<i8> {
    %c = arith.constant -1 : i8
    %1 = tensor.empty() : tensor<i8>
    %2 = linalg.fill ins(%c : i8) outs(%1 : tensor<i8>) -> tensor<i8>
    %3 = tensor.empty() : tensor<i8>
    %4:2 = linalg.generic {
        indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>],
        iterator_types = []}
        ins(%a : tensor<i8>) outs(%2, %3 : tensor<i8>, tensor<i8>) {
    ^bb0(%in: i8, %out: i8, %other: i8):
      %5 = arith.minui %in, %out : i8
      linalg.yield %5, %5 : i8, i8
    } -> (tensor<i8>, tensor<i8>)
    ark.yield %4#1 : tensor<i8>
  }
  ark.return %0 : tensor<i8>
}
