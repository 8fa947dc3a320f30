// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

#input = #ark.kind<input>

// Rows are the queries of all heads. The factor of the scores follows the sum.
// CHECK-LABEL: ark.program @rowsOfQueries
ark.program @rowsOfQueries(
    %q: tensor<2x3x70x8xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x80x8xf32> {ark.kind = #input, ark.name = "k"},
    %v: tensor<2x80x6xf32> {ark.kind = #input, ark.name = "v"}, %g: tensor<2x3x70x6xf32> {ark.kind = #input, ark.name = "g"},
    %s: tensor<2x3x70xf32> {ark.kind = #input, ark.name = "s"}, %m: tensor<2x3x70xf32> {ark.kind = #input, ark.name = "m"})
    -> (tensor<2x3x70x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[Q:.+]] = %{{.+}}, %[[K:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}}, %[[G:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}}, %[[M:.+]] = %{{.+}})
  // CHECK: %[[R:.+]]:3 = ark.blocked_attention_gradient ins(%[[Q]], %[[K]], %[[G]], %[[V]], %[[S]], %[[M]] :
  // CHECK-SAME: outs(%{{.+}} : tensor<2x3x70x8xf32>) memory(%{{.+}}, %{{.+}} : tensor<2x3x70x64xf32>, tensor<2x3x70x64xf32>)
  // CHECK-SAME: maps [affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d3, d5)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>, affine_map<(d0, d1, d2, d3, d4, d5, d6) -> (d0, d1, d2, d6)>] causal
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %[[QUERY:.+]]: index, %[[KEY:.+]]: index, %[[DOT:.+]]: f32):
  // CHECK: arith.mulf %[[DOT]], %{{.+}}
  // CHECK: %[[LEFT:.+]] = arith.addi %[[KEY]], %{{.+}} : index
  // CHECK: %[[RIGHT:.+]] = arith.addi %[[QUERY]], %{{.+}} : index
  // CHECK: arith.cmpi sle, %[[LEFT]], %[[RIGHT]]
  // CHECK: %[[SCALED:.+]] = linalg.generic {{.*}} ins(%[[R]]#0 :
  // CHECK: arith.mulf
  // CHECK: ark.yield %[[SCALED]]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %g, %e = %s, %f = %m)
      : (tensor<2x3x70x8xf32>, tensor<2x80x8xf32>, tensor<2x80x6xf32>, tensor<2x3x70x6xf32>, tensor<2x3x70xf32>, tensor<2x3x70xf32>) -> tensor<2x3x70x8xf32> {
    %r = ark.attention_query_gradient %a, %b, %c, %d, %e, %f scale = 0.5 {causal} : (tensor<2x3x70x8xf32>, tensor<2x80x8xf32>, tensor<2x80x6xf32>, tensor<2x3x70x6xf32>, tensor<2x3x70xf32>, tensor<2x3x70xf32>) -> tensor<2x3x70x8xf32>
    ark.yield %r : tensor<2x3x70x8xf32>
  }
  ark.return %0 : tensor<2x3x70x8xf32>
}

// Rows of queries never read keys beyond a run-time length.
// CHECK-LABEL: ark.program @lengthOfRowsOfQueries
ark.program @lengthOfRowsOfQueries(
    %q: tensor<2x3x4x8xbf16> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x80x8xbf16> {ark.kind = #input, ark.name = "k"},
    %s: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "s"}, %m: tensor<4x80xi1> {ark.kind = #input, ark.name = "m"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"}) -> (tensor<2x3x4x8xbf16> {ark.name = "y"}) {
  // CHECK: %[[LENGTH:.+]] = affine.min affine_map<(d0) -> (d0, 80)>
  // CHECK: tensor.extract_slice %{{.+}}[0, 0, 0] [2, %[[LENGTH]], 8] [1, 1, 1] : tensor<2x80x8xbf16>
  // CHECK: tensor.extract_slice %{{.+}}[0, 0] [4, %[[LENGTH]]] [1, 1] : tensor<4x80xi1>
  // CHECK: ark.blocked_attention_gradient ins(%{{.+}} : tensor<2x3x4x8xbf16>, tensor<2x?x8xbf16>, tensor<2x3x4x8xbf16>, tensor<2x?x8xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) mask(%{{.+}} : tensor<4x?xi1>)
  // CHECK-NEXT: ^bb0({{.*}}, %[[DOT:.+]]: f32, %[[KEEP:.+]]: i1):
  // CHECK: arith.select %[[KEEP]],
  // CHECK-NOT: arith.cmpi
  // CHECK: ark.yield
  %0 = ark.group "g" (%a = %q, %b = %k, %e = %s, %f = %m, %l = %n)
      : (tensor<2x3x4x8xbf16>, tensor<2x80x8xbf16>, tensor<2x3x4xf32>, tensor<4x80xi1>, tensor<i32>) -> tensor<2x3x4x8xbf16> {
    %r = ark.attention_query_gradient %a, %b, %b, %a, %e, %e mask %f kv_length %l scale = 0.5 : (tensor<2x3x4x8xbf16>, tensor<2x80x8xbf16>, tensor<2x80x8xbf16>, tensor<2x3x4x8xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x80xi1>, tensor<i32>) -> tensor<2x3x4x8xbf16>
    ark.yield %r : tensor<2x3x4x8xbf16>
  }
  ark.return %0 : tensor<2x3x4x8xbf16>
}

// Rows are keys, and the others the queries of all heads that share them. Rows beyond a run-time length have no
// weights, and the first query of a row depends on the length, so that no query is left out.
// CHECK-LABEL: ark.program @rowsOfKeys
ark.program @rowsOfKeys(
    %q: tensor<2x3x4x8xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x80x8xf32> {ark.kind = #input, ark.name = "k"},
    %v: tensor<2x80x6xf32> {ark.kind = #input, ark.name = "v"}, %g: tensor<2x3x4x6xf32> {ark.kind = #input, ark.name = "g"},
    %s: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "s"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"}) -> (tensor<2x80x14xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[Q:.+]] = %{{.+}}, %[[K:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}}, %[[G:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}}, %{{.+}} = %{{.+}})
  // CHECK: %[[LENGTH:.+]] = affine.min affine_map<(d0) -> (d0, 80)>
  // CHECK-NOT: tensor.extract_slice
  // CHECK: %[[R:.+]]:4 = ark.blocked_attention_gradient ins(%[[K]], %[[Q]], %[[V]], %[[G]], %[[S]], %[[S]] :
  // CHECK-SAME: outs(%{{.+}} : tensor<2x80x8xf32>) value_gradient(%{{.+}} : tensor<2x80x6xf32>) memory(%{{.+}}, %{{.+}} : tensor<2x80x4xf32>, tensor<2x80x4xf32>)
  // CHECK-NOT: causal
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %[[KEY:.+]]: index, %{{.+}}: index, %[[QUERY:.+]]: index, %{{.+}}: f32):
  // CHECK: %[[LEFT:.+]] = arith.addi %[[KEY]], %{{.+}} : index
  // CHECK: %[[RIGHT:.+]] = arith.addi %[[QUERY]], %[[LENGTH]] : index
  // CHECK: arith.cmpi sle, %[[LEFT]], %[[RIGHT]]
  // CHECK: arith.cmpi slt, %[[KEY]], %[[LENGTH]]
  // CHECK: ark.yield
  // CHECK: %[[SCALED:.+]] = linalg.generic {{.*}} ins(%[[R]]#0 :
  // CHECK: %[[PART:.+]] = tensor.insert_slice %[[SCALED]] into %{{.+}}[0, 0, 0] [2, 80, 8] [1, 1, 1]
  // CHECK: tensor.insert_slice %[[R]]#1 into %[[PART]][0, 0, 8] [2, 80, 6] [1, 1, 1]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %g, %e = %s, %l = %n)
      : (tensor<2x3x4x8xf32>, tensor<2x80x8xf32>, tensor<2x80x6xf32>, tensor<2x3x4x6xf32>, tensor<2x3x4xf32>, tensor<i32>) -> tensor<2x80x14xf32> {
    %r = ark.attention_key_value_gradient %a, %b, %c, %d, %e, %e kv_length %l scale = 0.5 {causal} : (tensor<2x3x4x8xf32>, tensor<2x80x8xf32>, tensor<2x80x6xf32>, tensor<2x3x4x6xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<i32>) -> tensor<2x80x14xf32>
    ark.yield %r : tensor<2x80x14xf32>
  }
  ark.return %0 : tensor<2x80x14xf32>
}
