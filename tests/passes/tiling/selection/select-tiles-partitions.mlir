// RUN: ark-opt %s --ark-assign-target=target=cpu:16 --ark-select-tiles | FileCheck %s

// A vCTA has one partition of the keys and the rows of the cache in this partition; the rotated rows are the
// same for all partitions.
// CHECK-LABEL: ark.program @everyPartition
// CHECK: ark.group "q_rope"{{.*}}tile = array<i64: 1, 4, 1, 16>
// CHECK: ark.group "k_rope"{{.*}}tile = array<i64: 1, 1, 1, 16>
// CHECK: ark.group "cache"{{.*}}tile = array<i64: 1, 1, 8, 16>
// CHECK: ark.group "attention"{{.*}}tile = array<i64: 1, 4, 1, 1, 18>
// CHECK: ark.group "all"{{.*}}tile = array<i64: 1, 2, 1, 16>
ark.program @everyPartition(
    %q: tensor<1x8x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x2x8x8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %c: tensor<1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x1x16xf32> {ark.name = "y"}) {
  %0 = ark.group "q_rope" (%a = %q, %b = %c) : (tensor<1x8x1x16xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x8x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  %1 = ark.group "k_rope" (%a = %k, %b = %c) : (tensor<1x2x1x16xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x2x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32>
    ark.yield %r : tensor<1x2x1x16xf32>
  }
  %2 = ark.group "cache" (%a = %s, %b = %1, %d = %p) : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32> {
    %r = ark.update %b into %a [0, 0, %d, 0] : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32>
    ark.yield %r : tensor<1x2x64x16xf32>
  }
  %3 = ark.reshape %2 shape = [1, 2, 8, 8, 16] : (tensor<1x2x64x16xf32>) -> tensor<1x2x8x8x16xf32>
  %4 = ark.group "attention" (%a = %0, %b = %3, %d = %v) : (tensor<1x8x1x16xf32>, tensor<1x2x8x8x16xf32>, tensor<1x2x8x8x16xf32>) -> tensor<1x8x1x8x18xf32> {
    %r = ark.partial_attention %a, %b, %d scale = 1.0 : (tensor<1x8x1x16xf32>, tensor<1x2x8x8x16xf32>, tensor<1x2x8x8x16xf32>) -> tensor<1x8x1x8x18xf32>
    ark.yield %r : tensor<1x8x1x8x18xf32>
  }
  %5 = ark.group "all" (%a = %4) : (tensor<1x8x1x8x18xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.combine_attention %a : (tensor<1x8x1x8x18xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  ark.return %5 : tensor<1x8x1x16xf32>
}

// Rows of several tokens may belong to several partitions, so the tile of the update does not change.
// CHECK-LABEL: ark.program @severalRows
// CHECK: ark.group "cache"{{.*}}tile = array<i64: 1, 1, 3, 16>
// CHECK: ark.group "attention"{{.*}}tile = array<i64: 1, 2, 3, 1, 18>
ark.program @severalRows(
    %q: tensor<1x4x3x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x3x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x2x8x8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %s: tensor<1x2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x4x3x8x18xf32> {ark.name = "y"}) {
  %2 = ark.group "cache" (%a = %s, %b = %k, %d = %p) : (tensor<1x2x64x16xf32>, tensor<1x2x3x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32> {
    %r = ark.update %b into %a [0, 0, %d, 0] : (tensor<1x2x64x16xf32>, tensor<1x2x3x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32>
    ark.yield %r : tensor<1x2x64x16xf32>
  }
  %3 = ark.reshape %2 shape = [1, 2, 8, 8, 16] : (tensor<1x2x64x16xf32>) -> tensor<1x2x8x8x16xf32>
  %4 = ark.group "attention" (%a = %q, %b = %3, %d = %v) : (tensor<1x4x3x16xf32>, tensor<1x2x8x8x16xf32>, tensor<1x2x8x8x16xf32>) -> tensor<1x4x3x8x18xf32> {
    %r = ark.partial_attention %a, %b, %d scale = 1.0 : (tensor<1x4x3x16xf32>, tensor<1x2x8x8x16xf32>, tensor<1x2x8x8x16xf32>) -> tensor<1x4x3x8x18xf32>
    ark.yield %r : tensor<1x4x3x8x18xf32>
  }
  ark.return %4 : tensor<1x4x3x8x18xf32>
}
