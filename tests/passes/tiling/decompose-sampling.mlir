// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// The counter is the number of the block, then the one given; ten rounds later
// the place within the block picks a word.
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

// Thirty-one bits are tried, highest first: for each, how many numbers are from
// there on. Then the same for sums.
// CHECK-LABEL: ark.program @topThreshold
ark.program @topThreshold(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %k: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "k"},
    %p: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<4x1xf32> {ark.name = "y"}) {
  // CHECK: %[[K:.+]] = tensor.extract %{{.+}}[] : tensor<i32>
  // CHECK: %[[P:.+]] = tensor.extract %{{.+}}[] : tensor<f32>
  // Not positive means all.
  // CHECK: %[[LIMITED:.+]] = arith.cmpi sgt, %[[K]], %{{.+}} : i32
  // CHECK: %[[FEWER:.+]] = arith.minsi %[[K]], %[[ALL:.+]] : i32
  // CHECK: %[[WANTED:.+]] = arith.select %[[LIMITED]], %[[FEWER]], %[[ALL]] : i32
  // CHECK: arith.ori
  // CHECK: iterator_types = ["parallel", "reduction"]
  // CHECK: %[[BITS:.+]] = arith.bitcast %{{.+}} : f32 to i32
  // CHECK: %[[COUNTS:.+]] = arith.cmpi sge, %[[BITS]], %{{.+}} : i32
  // CHECK: %[[ONE:.+]] = arith.extui %[[COUNTS]] : i1 to i32
  // CHECK: arith.addi %{{.+}}, %[[ONE]] : i32
  // CHECK: arith.cmpi sge, %{{.+}}, %[[WANTED]] : i32
  // CHECK-COUNT-30: arith.extui
  // CHECK-NOT: arith.extui
  // CHECK: arith.addf
  // CHECK: arith.mulf %{{.+}}, %[[P]] : f32
  // CHECK-COUNT-31: arith.cmpf ogt
  // CHECK: %[[WHOLE:.+]] = arith.cmpf oge, %[[P]], %{{.+}} : f32
  // CHECK: %[[BOTH:.+]] = arith.maxsi %[[COUNT:.+]], %{{.+}} : i32
  // CHECK: %[[LEAST:.+]] = arith.select %[[WHOLE]], %[[COUNT]], %[[BOTH]] : i32
  // CHECK: arith.bitcast %[[LEAST]] : i32 to f32
  %0 = ark.group "g" (%a = %x, %b = %k, %c = %p)
      : (tensor<4x8xf32>, tensor<i32>, tensor<f32>) -> tensor<4x1xf32> {
    %r = ark.top_threshold %a k = %b p = %c : (tensor<4x8xf32>, tensor<i32>, tensor<f32>) -> tensor<4x1xf32>
    ark.yield %r : tensor<4x1xf32>
  }
  ark.return %0 : tensor<4x1xf32>
}
