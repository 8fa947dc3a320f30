// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s

// The sum of parts has one tile for each SM, and the norm of the sum gets the same tile.
// CHECK-LABEL: ark.program @normOfASum
// CHECK: ark.group "sum"{{.*}}tile = array<i64: 4, 2048>
// CHECK: ark.group "norm"{{.*}}tile = array<i64: 4, 2048>
ark.program @normOfASum(%p: tensor<4x512x2048xf32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<512x2048xbf16> {ark.name = "x"}, tensor<512x2048xbf16> {ark.name = "y"}) {
  %0 = ark.group "sum" (%a = %p) : (tensor<4x512x2048xf32>) -> tensor<512x2048xbf16> {
    %r = ark.reduce_sum %a axes = [0] keepdims = false : (tensor<4x512x2048xf32>) -> tensor<512x2048xf32>
    %c = ark.cast %r to bf16 : (tensor<512x2048xf32>) -> tensor<512x2048xbf16>
    ark.yield %c : tensor<512x2048xbf16>
  }
  %1 = ark.group "norm" (%a = %0) : (tensor<512x2048xbf16>) -> tensor<512x2048xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-6 : (tensor<512x2048xbf16>) -> tensor<512x2048xbf16>
    ark.yield %r : tensor<512x2048xbf16>
  }
  ark.return %0, %1 : tensor<512x2048xbf16>, tensor<512x2048xbf16>
}

// A plan decides the tile of the norm.
// CHECK-LABEL: ark.program @plannedNorm
// CHECK: ark.group "sum"{{.*}}tile = array<i64: 4, 2048>
// CHECK: ark.group "norm"{{.*}}tile = array<i64: 8, 2048>
ark.program @plannedNorm(%p: tensor<4x512x2048xf32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<512x2048xbf16> {ark.name = "x"}, tensor<512x2048xbf16> {ark.name = "y"}) {
  %0 = ark.group "sum" (%a = %p) : (tensor<4x512x2048xf32>) -> tensor<512x2048xbf16> {
    %r = ark.reduce_sum %a axes = [0] keepdims = false : (tensor<4x512x2048xf32>) -> tensor<512x2048xf32>
    %c = ark.cast %r to bf16 : (tensor<512x2048xf32>) -> tensor<512x2048xbf16>
    ark.yield %c : tensor<512x2048xbf16>
  }
  %1 = ark.group "norm" (%a = %0) attributes {plan = {tile = [8, 2048]}} : (tensor<512x2048xbf16>) -> tensor<512x2048xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-6 : (tensor<512x2048xbf16>) -> tensor<512x2048xbf16>
    ark.yield %r : tensor<512x2048xbf16>
  }
  ark.return %0, %1 : tensor<512x2048xbf16>, tensor<512x2048xbf16>
}

// A norm of a tensor that no sum of matrices produces keeps its own tile.
// CHECK-LABEL: ark.program @normOfAnInput
// CHECK: ark.group "norm"{{.*}}tile = array<i64: 2, 2048>
ark.program @normOfAnInput(%x: tensor<512x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<512x2048xbf16> {ark.name = "y"}) {
  %1 = ark.group "norm" (%a = %x) : (tensor<512x2048xbf16>) -> tensor<512x2048xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-6 : (tensor<512x2048xbf16>) -> tensor<512x2048xbf16>
    ark.yield %r : tensor<512x2048xbf16>
  }
  ark.return %1 : tensor<512x2048xbf16>
}
