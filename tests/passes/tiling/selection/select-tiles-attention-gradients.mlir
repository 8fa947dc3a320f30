// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,LARGE
// RUN: ark-opt %s --ark-assign-target=target=cpu:4 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,CPU

#input = #ark.kind<input>

// Tiles have up to 64 rows, with all columns: the gradients of keys and values lie side by side.
// CHECK-LABEL: ark.program @gradients
// CHECK: ark.group "queries"{{.*}}tile = array<i64: 1, 1, 64, 64>
// CHECK: ark.group "keys"{{.*}}tile = array<i64: 1, 64, 128>
ark.program @gradients(
    %q: tensor<32x2x2048x64xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<32x2048x64xf32> {ark.kind = #input, ark.name = "k"},
    %s: tensor<32x2x2048xf32> {ark.kind = #input, ark.name = "s"})
    -> (tensor<32x2x2048x64xf32> {ark.name = "y"}, tensor<32x2048x128xf32> {ark.name = "z"}) {
  %0 = ark.group "queries" (%a = %q, %b = %k, %e = %s) : (tensor<32x2x2048x64xf32>, tensor<32x2048x64xf32>, tensor<32x2x2048xf32>) -> tensor<32x2x2048x64xf32> {
    %r = ark.attention_query_gradient %a, %b, %b, %a, %e, %e scale = 1.0 : (tensor<32x2x2048x64xf32>, tensor<32x2048x64xf32>, tensor<32x2048x64xf32>, tensor<32x2x2048x64xf32>, tensor<32x2x2048xf32>, tensor<32x2x2048xf32>) -> tensor<32x2x2048x64xf32>
    ark.yield %r : tensor<32x2x2048x64xf32>
  }
  %1 = ark.group "keys" (%a = %q, %b = %k, %e = %s) : (tensor<32x2x2048x64xf32>, tensor<32x2048x64xf32>, tensor<32x2x2048xf32>) -> tensor<32x2048x128xf32> {
    %r = ark.attention_key_value_gradient %a, %b, %b, %a, %e, %e scale = 1.0 : (tensor<32x2x2048x64xf32>, tensor<32x2048x64xf32>, tensor<32x2048x64xf32>, tensor<32x2x2048x64xf32>, tensor<32x2x2048xf32>, tensor<32x2x2048xf32>) -> tensor<32x2048x128xf32>
    ark.yield %r : tensor<32x2048x128xf32>
  }
  ark.return %0, %1 : tensor<32x2x2048x64xf32>, tensor<32x2048x128xf32>
}

// Weights, slopes and a gradient of a tile take at most half of the shared memory; a core has none.
// LARGE-LABEL: ark.program @wideRows
// LARGE: ark.group "keys"{{.*}}tile = array<i64: 1, 16, 1024>
// CPU-LABEL: ark.program @wideRows
// CPU: ark.group "keys"{{.*}}tile = array<i64: 1, 64, 1024>
ark.program @wideRows(
    %q: tensor<32x2x2048x512xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<32x2048x512xf32> {ark.kind = #input, ark.name = "k"},
    %s: tensor<32x2x2048xf32> {ark.kind = #input, ark.name = "s"}) -> (tensor<32x2048x1024xf32> {ark.name = "z"}) {
  %1 = ark.group "keys" (%a = %q, %b = %k, %e = %s) : (tensor<32x2x2048x512xf32>, tensor<32x2048x512xf32>, tensor<32x2x2048xf32>) -> tensor<32x2048x1024xf32> {
    %r = ark.attention_key_value_gradient %a, %b, %b, %a, %e, %e scale = 1.0 : (tensor<32x2x2048x512xf32>, tensor<32x2048x512xf32>, tensor<32x2048x512xf32>, tensor<32x2x2048x512xf32>, tensor<32x2x2048xf32>, tensor<32x2x2048xf32>) -> tensor<32x2048x1024xf32>
    ark.yield %r : tensor<32x2048x1024xf32>
  }
  ark.return %1 : tensor<32x2048x1024xf32>
}

// Two short heads have smaller tiles, so that more SMs work.
// LARGE-LABEL: ark.program @fewRows
// LARGE: ark.group "queries"{{.*}}tile = array<i64: 1, 1, 32, 64>
ark.program @fewRows(
    %q: tensor<2x1x256x64xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x256x64xf32> {ark.kind = #input, ark.name = "k"},
    %s: tensor<2x1x256xf32> {ark.kind = #input, ark.name = "s"}) -> (tensor<2x1x256x64xf32> {ark.name = "y"}) {
  %0 = ark.group "queries" (%a = %q, %b = %k, %e = %s) : (tensor<2x1x256x64xf32>, tensor<2x256x64xf32>, tensor<2x1x256xf32>) -> tensor<2x1x256x64xf32> {
    %r = ark.attention_query_gradient %a, %b, %b, %a, %e, %e scale = 1.0 : (tensor<2x1x256x64xf32>, tensor<2x256x64xf32>, tensor<2x256x64xf32>, tensor<2x1x256x64xf32>, tensor<2x1x256xf32>, tensor<2x1x256xf32>) -> tensor<2x1x256x64xf32>
    ark.yield %r : tensor<2x1x256x64xf32>
  }
  ark.return %0 : tensor<2x1x256x64xf32>
}
