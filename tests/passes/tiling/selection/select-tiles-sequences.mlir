// A tile has one sequence if each sequence has its own length or offset, on every target.
// RUN: ark-opt %s --ark-assign-target=target=cpu:2 --ark-select-tiles | FileCheck %s
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s

// CHECK-LABEL: ark.program @lengths
// CHECK: ark.group "one"
// CHECK: ark.group "each"{{.*}}tile = array<i64: 1, {{.*}}16>
ark.program @lengths(
    %q: tensor<8x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x2x8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %one: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "one"},
    %each: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "each"})
    -> (tensor<8x2x1x16xf32> {ark.name = "y"}, tensor<8x2x1x16xf32> {ark.name = "z"}) {
  %0 = ark.group "one" (%a = %q, %b = %k, %n = %one)
      : (tensor<8x2x1x16xf32>, tensor<8x2x8x16xf32>, tensor<i32>) -> tensor<8x2x1x16xf32> {
    %r = ark.attention %a, %b, %b kv_length %n scale = 1.0 : (tensor<8x2x1x16xf32>, tensor<8x2x8x16xf32>, tensor<8x2x8x16xf32>, tensor<i32>) -> tensor<8x2x1x16xf32>
    ark.yield %r : tensor<8x2x1x16xf32>
  }
  %1 = ark.group "each" (%a = %q, %b = %k, %n = %each)
      : (tensor<8x2x1x16xf32>, tensor<8x2x8x16xf32>, tensor<8xi32>) -> tensor<8x2x1x16xf32> {
    %r = ark.attention %a, %b, %b kv_length %n scale = 1.0 : (tensor<8x2x1x16xf32>, tensor<8x2x8x16xf32>, tensor<8x2x8x16xf32>, tensor<8xi32>) -> tensor<8x2x1x16xf32>
    ark.yield %r : tensor<8x2x1x16xf32>
  }
  ark.return %0, %1 : tensor<8x2x1x16xf32>, tensor<8x2x1x16xf32>
}

// CHECK-LABEL: ark.program @lengthsOfPartitions
// CHECK: ark.group "each"{{.*}}tile = array<i64: 1, {{[0-9]+}}, 1, 1, 18>
ark.program @lengthsOfPartitions(
    %q: tensor<8x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x2x8x4x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %each: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "each"})
    -> (tensor<8x2x1x4x18xf32> {ark.name = "y"}) {
  %0 = ark.group "each" (%a = %q, %b = %k, %n = %each)
      : (tensor<8x2x1x16xf32>, tensor<8x2x8x4x16xf32>, tensor<8xi32>) -> tensor<8x2x1x4x18xf32> {
    %r = ark.partial_attention %a, %b, %b kv_length %n scale = 1.0 : (tensor<8x2x1x16xf32>, tensor<8x2x8x4x16xf32>, tensor<8x2x8x4x16xf32>, tensor<8xi32>) -> tensor<8x2x1x4x18xf32>
    ark.yield %r : tensor<8x2x1x4x18xf32>
  }
  ark.return %0 : tensor<8x2x1x4x18xf32>
}

// CHECK-LABEL: ark.program @offsets
// CHECK: ark.group "one"{{.*}}tile = array<i64: 8,
// CHECK: ark.group "each"{{.*}}tile = array<i64: 1,
ark.program @offsets(
    %s: tensor<8x2x8x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %t: tensor<8x2x8x16xf32> {ark.kind = #ark.kind<state>, ark.name = "t"},
    %v: tensor<8x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %one: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "one"},
    %each: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "each"}) {
  %0 = ark.group "one" (%a = %s, %b = %v, %n = %one)
      : (tensor<8x2x8x16xf32>, tensor<8x2x1x16xf32>, tensor<i32>) -> tensor<8x2x8x16xf32> {
    %r = ark.update %b into %a [0, 0, %n, 0] : (tensor<8x2x8x16xf32>, tensor<8x2x1x16xf32>, tensor<i32>) -> tensor<8x2x8x16xf32>
    ark.yield %r : tensor<8x2x8x16xf32>
  }
  %1 = ark.group "each" (%a = %t, %b = %v, %n = %each)
      : (tensor<8x2x8x16xf32>, tensor<8x2x1x16xf32>, tensor<8xi32>) -> tensor<8x2x8x16xf32> {
    %r = ark.update %b into %a [0, 0, %n, 0] : (tensor<8x2x8x16xf32>, tensor<8x2x1x16xf32>, tensor<8xi32>) -> tensor<8x2x8x16xf32>
    ark.yield %r : tensor<8x2x8x16xf32>
  }
  ark.return
}
