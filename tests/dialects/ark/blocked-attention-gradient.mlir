// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

#left = affine_map<(r, o, d, c, b) -> (r, d)>
#right = affine_map<(r, o, d, c, b) -> (o, d)>
#left_slope = affine_map<(r, o, d, c, b) -> (r, c)>
#right_slope = affine_map<(r, o, d, c, b) -> (o, c)>
#row = affine_map<(r, o, d, c, b) -> (r)>
#pair = affine_map<(r, o, d, c, b) -> (r, o)>
#block = affine_map<(r, o, d, c, b) -> (r, b)>

// CHECK-LABEL: func.func @rowsOfQueriesOnTensors
func.func @rowsOfQueriesOnTensors(%q: tensor<2x8xbf16>, %k: tensor<16x8xbf16>, %g: tensor<2x6xbf16>,
    %v: tensor<16x6xbf16>, %s: tensor<2xf32>, %m: tensor<2x16xi1>, %dq: tensor<2x8xf32>,
    %w: tensor<2x4xf32>, %least: f32) -> tensor<2x8xf32> {
  // CHECK: %[[R:.+]]:3 = ark.blocked_attention_gradient ins(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : tensor<2x8xbf16>, tensor<16x8xbf16>, tensor<2x6xbf16>, tensor<16x6xbf16>, tensor<2xf32>, tensor<2xf32>) mask(%{{.+}} : tensor<2x16xi1>)
  // CHECK-SAME: outs(%{{.+}} : tensor<2x8xf32>) memory(%{{.+}}, %{{.+}} : tensor<2x4xf32>, tensor<2x4xf32>) maps [
  // CHECK-SAME: causal
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %[[DOT:.+]]: f32, %[[KEEP:.+]]: i1):
  // CHECK-NEXT: %[[SCORE:.+]] = arith.select %[[KEEP]], %[[DOT]],
  // CHECK-NEXT: ark.yield %[[SCORE]] : f32
  // CHECK-NEXT: } -> tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  %0:3 = ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : tensor<2x8xbf16>, tensor<16x8xbf16>, tensor<2x6xbf16>, tensor<16x6xbf16>, tensor<2xf32>, tensor<2xf32>)
      mask(%m : tensor<2x16xi1>) outs(%dq : tensor<2x8xf32>) memory(%w, %w : tensor<2x4xf32>, tensor<2x4xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #pair, #left, #block, #block] causal {
  ^bb0(%row: index, %key: index, %dot: f32, %keep: i1):
    %score = arith.select %keep, %dot, %least : f32
    ark.yield %score : f32
  } -> tensor<2x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>
  return %0#0 : tensor<2x8xf32>
}

// Heads share the keys, so that two loops are over the others.
// CHECK-LABEL: func.func @rowsOfKeysOnBuffers
func.func @rowsOfKeysOnBuffers(%k: memref<16x8xf32>, %q: memref<3x?x8xf32>, %v: memref<16x6xf32>, %g: memref<3x?x6xf32>,
    %s: memref<3x?xf32>, %dk: memref<16x8xf32>, %dv: memref<16x6xf32>, %w: memref<16x4xf32>, %t: memref<16x4xf32>) {
  // CHECK: ark.blocked_attention_gradient ins(
  // CHECK-SAME: outs(%{{.+}} : memref<16x8xf32>) value_gradient(%{{.+}} : memref<16x6xf32>) memory(
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %{{.+}}: f32):
  // CHECK-NEXT: ark.yield
  // CHECK-NEXT: {{^ *}}}{{$}}
  ark.blocked_attention_gradient
      ins(%k, %q, %v, %g, %s, %s : memref<16x8xf32>, memref<3x?x8xf32>, memref<16x6xf32>, memref<3x?x6xf32>, memref<3x?xf32>, memref<3x?xf32>)
      outs(%dk : memref<16x8xf32>) value_gradient(%dv : memref<16x6xf32>) memory(%w, %t : memref<16x4xf32>, memref<16x4xf32>)
      maps [affine_map<(r, h, o, d, c, b) -> (r, d)>, affine_map<(r, h, o, d, c, b) -> (h, o, d)>,
            affine_map<(r, h, o, d, c, b) -> (r, c)>, affine_map<(r, h, o, d, c, b) -> (h, o, c)>,
            affine_map<(r, h, o, d, c, b) -> (h, o)>, affine_map<(r, h, o, d, c, b) -> (h, o)>,
            affine_map<(r, h, o, d, c, b) -> (r, d)>, affine_map<(r, h, o, d, c, b) -> (r, c)>,
            affine_map<(r, h, o, d, c, b) -> (r, b)>, affine_map<(r, h, o, d, c, b) -> (r, b)>] {
  ^bb0(%key: index, %head: index, %query: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}
