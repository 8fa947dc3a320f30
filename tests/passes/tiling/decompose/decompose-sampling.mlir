// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// The counter consists of the block number and the given number. After ten
// rounds, the index within the block selects a word.
// CHECK-LABEL: ark.program @philox
ark.program @philox(
    %index: tensor<8xi64> {ark.kind = #ark.kind<input>, ark.name = "index"},
    %counter: tensor<i64> {ark.kind = #ark.kind<scalar>, ark.name = "counter"},
    %seed: tensor<i64> {ark.kind = #ark.kind<scalar>, ark.name = "seed"})
    -> (tensor<8xui32> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[INDEX:.+]]: i64, %[[COUNTER:.+]]: i64, %[[SEED:.+]]: i64, %{{.+}}: i32):
  // CHECK: %[[BLOCK:.+]] = arith.shrui %[[INDEX]], %{{.+}} : i64
  // CHECK: %[[LOW:.+]] = arith.trunci %[[BLOCK]] : i64 to i32
  // CHECK: %[[COUNTER_LOW:.+]] = arith.trunci %[[COUNTER]] : i64 to i32
  // CHECK: arith.trunci %[[SEED]] : i64 to i32
  // CHECK: %{{.+}}, %{{.+}} = arith.mului_extended %{{.+}}, %[[LOW]] : i32
  // CHECK: %{{.+}}, %{{.+}} = arith.mului_extended %{{.+}}, %[[COUNTER_LOW]] : i32
  // CHECK-COUNT-18: arith.mului_extended
  // CHECK-NOT: arith.mului_extended
  // CHECK: arith.trunci %[[INDEX]] : i64 to i32
  // CHECK-COUNT-3: arith.select
  // CHECK-NEXT: linalg.yield
  %0 = ark.group "g" (%a = %index, %b = %counter, %c = %seed)
      : (tensor<8xi64>, tensor<i64>, tensor<i64>) -> tensor<8xui32> {
    %r = ark.philox %a counter = %b seed = %c : (tensor<8xi64>, tensor<i64>, tensor<i64>) -> tensor<8xui32>
    ark.yield %r : tensor<8xui32>
  }
  ark.return %0 : tensor<8xui32>
}

// The threshold becomes loops later, when its tile is a row.
// CHECK-LABEL: ark.program @topThresholdStays
// CHECK: %[[R:.+]] = ark.top_threshold
// CHECK-NEXT: ark.yield %[[R]]
ark.program @topThresholdStays(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %k: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "k"},
    %p: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<4x1xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x, %b = %k, %c = %p)
      : (tensor<4x8xf32>, tensor<i32>, tensor<f32>) -> tensor<4x1xf32> {
    %r = ark.top_threshold %a k = %b p = %c : (tensor<4x8xf32>, tensor<i32>, tensor<f32>) -> tensor<4x1xf32>
    ark.yield %r : tensor<4x1xf32>
  }
  ark.return %0 : tensor<4x1xf32>
}
