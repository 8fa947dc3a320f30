// RUN: ark-opt %s --ark-decompose | FileCheck %s

// The log-sum-exp is the maximum plus the logarithm of the sum, and zero for a row without a valid key.
// CHECK-LABEL: ark.program @ofEachQuery
ark.program @ofEachQuery(
    %q: tensor<4x3x16xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x16xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<4x3x1xf32> {ark.name = "y"}) {
  // CHECK: %[[A:.+]]:4 = ark.online_attention
  // CHECK-SAME: outs(%{{.+}} : tensor<4x3x16xf32>, tensor<4x3xf32>, tensor<4x3xf32>, tensor<4x3x32xf32>)
  // CHECK: linalg.generic {{.*}} ins(%[[A]]#1, %[[A]]#2 : tensor<4x3xf32>, tensor<4x3xf32>) outs(%{{.+}} : tensor<4x3x1xf32>)
  // CHECK-NEXT: ^bb0(%[[MAX:.+]]: f32, %[[SUM:.+]]: f32, %{{.+}}: f32):
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.0
  // CHECK-DAG: %[[PRESENT:.+]] = arith.cmpf une, %[[SUM]], %[[ZERO]]
  // CHECK-DAG: %[[LOG:.+]] = math.log %[[SUM]]
  // CHECK: %[[TOTAL:.+]] = arith.addf %[[MAX]], %[[LOG]]
  // CHECK: arith.select %[[PRESENT]], %[[TOTAL]], %[[ZERO]]
  // CHECK-NOT: tensor.insert_slice
  %0 = ark.group "g" (%a = %q, %b = %k) : (tensor<4x3x16xbf16>, tensor<2x32x16xbf16>) -> tensor<4x3x1xf32> {
    %r = ark.attention_log_sum_exp %a, %b, %b scale = 5.0e-1
      : (tensor<4x3x16xbf16>, tensor<2x32x16xbf16>, tensor<2x32x16xbf16>) -> tensor<4x3x1xf32>
    ark.yield %r : tensor<4x3x1xf32>
  }
  ark.return %0 : tensor<4x3x1xf32>
}
