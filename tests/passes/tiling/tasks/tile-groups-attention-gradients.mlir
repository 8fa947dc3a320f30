// RUN: ark-opt %s --ark-decompose --ark-fuse-elementwise --ark-tile-groups --ark-verify-tiling --mlir-print-local-scope | FileCheck %s

#input = #ark.kind<input>

// A vCTA of queries has the keys up to those that its last query sees; the index of a row is that of all rows.
// CHECK-LABEL: ark.program @causalQueries
// CHECK: ark.task "g" grid [2, 3, 4]
// CHECK-SAME: [#ark.region<(d0, d1, d2) -> (d0, 0, 0), [1, 160, 8]>] : tensor<2x160x8xf32>
// CHECK-SAME: ark.growing
// CHECK: ^bb0(%{{.+}}: index, %{{.+}}: index, %[[TILE:.+]]: index, %{{.+}}: tensor<1x1x32x8xf32>, %[[K:.+]]: tensor<1x160x8xf32>,
// CHECK: %[[SEEN:.+]] = affine.min affine_map<(d0) -> (d0 * 32 + 64, 160)>(%[[TILE]])
// CHECK: tensor.extract_slice %[[K]][0, 0, 0] [1, %[[SEEN]], 8] [1, 1, 1]
// CHECK: ark.blocked_attention_gradient ins(%{{.+}} : tensor<32x8xf32>, tensor<?x8xf32>, tensor<32x8xf32>, tensor<?x8xf32>, tensor<32xf32>, tensor<32xf32>)
// CHECK-SAME: memory(%{{.+}} : tensor<32x64xf32>, tensor<32x64xf32>)
// CHECK-NOT: causal
// CHECK-NEXT: ^bb0(%[[ROW:[a-z0-9]+]]: index, %{{.+}}: f32):
// CHECK-NEXT: affine.apply affine_map<(d0)[s0] -> (d0 * 32 + s0)>(%[[TILE]])[%[[ROW]]]
ark.program @causalQueries(
    %q: tensor<2x3x128x8xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x160x8xf32> {ark.kind = #input, ark.name = "k"},
    %s: tensor<2x3x128xf32> {ark.kind = #input, ark.name = "s"}) -> (tensor<2x3x128x8xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %q, %b = %k, %e = %s) attributes {tile = array<i64: 1, 1, 32, 8>}
      : (tensor<2x3x128x8xf32>, tensor<2x160x8xf32>, tensor<2x3x128xf32>) -> tensor<2x3x128x8xf32> {
    %r = ark.attention_query_gradient %a, %b, %b, %a, %e, %e scale = 0.5 {causal} : (tensor<2x3x128x8xf32>, tensor<2x160x8xf32>, tensor<2x160x8xf32>, tensor<2x3x128x8xf32>, tensor<2x3x128xf32>, tensor<2x3x128xf32>) -> tensor<2x3x128x8xf32>
    ark.yield %r : tensor<2x3x128x8xf32>
  }
  ark.return %0 : tensor<2x3x128x8xf32>
}

// A vCTA of keys has the queries from the first one on that sees its first key. The index of a query is that of all
// queries.
// CHECK-LABEL: ark.program @causalKeys
// CHECK: ark.task "g" grid [2, 5]
// CHECK-NOT: ark.growing
// CHECK: ^bb0(%{{.+}}: index, %[[TILE:.+]]: index, %[[Q:.+]]: tensor<1x3x128x8xf32>, %{{.+}}: tensor<1x32x8xf32>, %{{.+}}: tensor<1x3x128xf32>, %[[O:.+]]: tensor<1x32x16xf32>):
// CHECK: %[[BEFORE:.+]] = affine.min affine_map<(d0) -> (d0 * -32 + 32, 0)>(%[[TILE]])
// CHECK: %[[FIRST:.+]] = affine.apply affine_map<()[s0] -> (-s0)>()[%[[BEFORE]]]
// CHECK: %[[COUNT:.+]] = affine.apply affine_map<()[s0] -> (s0 + 128)>()[%[[BEFORE]]]
// CHECK: tensor.extract_slice %[[Q]][0, 0, %[[FIRST]], 0] [1, 3, %[[COUNT]], 8]
// CHECK: %[[R:.+]]:4 = ark.blocked_attention_gradient ins(%{{.+}} : tensor<32x8xf32>, tensor<3x?x8xf32>, tensor<32x8xf32>, tensor<3x?x8xf32>, tensor<3x?xf32>, tensor<3x?xf32>)
// CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %[[QUERY:[a-z0-9]+]]: index, %{{.+}}: f32):
// CHECK-NEXT: affine.apply affine_map<()[s0, s1] -> (s0 - s1)>()[%[[QUERY]], %[[BEFORE]]]
// CHECK: tensor.insert_slice %{{.+}} into %[[O]][0, 0, 0] [1, 32, 8]
// CHECK: tensor.insert_slice %{{.+}} into %{{.+}}[0, 0, 8] [1, 32, 8]
ark.program @causalKeys(
    %q: tensor<2x3x128x8xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x160x8xf32> {ark.kind = #input, ark.name = "k"},
    %s: tensor<2x3x128xf32> {ark.kind = #input, ark.name = "s"}) -> (tensor<2x160x16xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %q, %b = %k, %e = %s) attributes {tile = array<i64: 1, 32, 16>}
      : (tensor<2x3x128x8xf32>, tensor<2x160x8xf32>, tensor<2x3x128xf32>) -> tensor<2x160x16xf32> {
    %r = ark.attention_key_value_gradient %a, %b, %b, %a, %e, %e scale = 0.5 {causal} : (tensor<2x3x128x8xf32>, tensor<2x160x8xf32>, tensor<2x160x8xf32>, tensor<2x3x128x8xf32>, tensor<2x3x128xf32>, tensor<2x3x128xf32>) -> tensor<2x160x16xf32>
    ark.yield %r : tensor<2x160x16xf32>
  }
  ark.return %0 : tensor<2x160x16xf32>
}
