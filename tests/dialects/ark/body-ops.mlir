// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>

// CHECK-LABEL: func.func @onTensors
func.func @onTensors(%q: tensor<2x8xbf16>, %k: tensor<16x8xbf16>, %v: tensor<16x8xbf16>, %m: tensor<2x16xi1>,
    %p: tensor<2x8xf32>, %r: tensor<2xf32>, %s: tensor<2x16xf32>, %least: f32) -> tensor<2x8xf32> {
  // CHECK: %[[R:.+]]:4 = ark.online_attention ins(%{{.+}}, %{{.+}}, %{{.+}} : tensor<2x8xbf16>, tensor<16x8xbf16>, tensor<16x8xbf16>) mask(%{{.+}} : tensor<2x16xi1>)
  // CHECK-SAME: outs(%{{.+}} : tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x16xf32>) maps [
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %[[DOT:.+]]: f32, %[[KEEP:.+]]: i1):
  // CHECK-NEXT: %[[SCORE:.+]] = arith.select %[[KEEP]], %[[DOT]],
  // CHECK-NEXT: ark.yield %[[SCORE]] : f32
  // CHECK-NEXT: } -> tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x16xf32>
  %0:4 = ark.online_attention ins(%q, %k, %v : tensor<2x8xbf16>, tensor<16x8xbf16>, tensor<16x8xbf16>)
      mask(%m : tensor<2x16xi1>)
      outs(%p, %r, %r, %s : tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x16xf32>)
      maps [#query, #keys, #values, #scores, #product, #rows, #rows, #scores] {
  ^bb0(%row: index, %key: index, %dot: f32, %keep: i1):
    %score = arith.select %keep, %dot, %least : f32
    ark.yield %score : f32
  } -> tensor<2x8xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2x16xf32>
  return %0#0 : tensor<2x8xf32>
}

// CHECK-LABEL: func.func @onBuffers
func.func @onBuffers(%q: memref<2x8xbf16>, %k: memref<?x8xbf16>, %p: memref<2x8xf32>, %r: memref<2xf32>,
    %t: memref<2xf32>, %s: memref<2x?xf32>) {
  // CHECK: ark.online_attention ins(
  // CHECK-NEXT: ^bb0(
  // CHECK-NEXT: ark.yield
  // CHECK-NEXT: {{^ *}}}{{$}}
  ark.online_attention ins(%q, %k, %k : memref<2x8xbf16>, memref<?x8xbf16>, memref<?x8xbf16>)
      outs(%p, %r, %t, %s : memref<2x8xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32>)
      maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}
