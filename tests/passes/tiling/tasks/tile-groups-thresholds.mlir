// RUN: ark-opt %s --ark-select-tiles --ark-decompose --ark-fuse-elementwise --ark-tile-groups --ark-verify-tiling --mlir-print-local-scope | FileCheck %s

// A vCTA has one row. The binary search has 31 steps, one for each bit, highest first, and counts the values at
// or above each candidate. The search over sums of values has the same steps.
// CHECK-LABEL: ark.program @thresholdIsABinarySearch
// CHECK: ark.task "g" grid [4]
// CHECK-SAME: #ark.region<(d0) -> (d0, 0), [1, 8]>
// CHECK-DAG: %[[K:.+]] = tensor.extract %{{.+}}[] : tensor<i32>
// CHECK-DAG: %[[P:.+]] = tensor.extract %{{.+}}[] : tensor<f32>
// CHECK-DAG: %[[ROW:.+]] = tensor.extract_slice %{{.+}} : tensor<1x8xf32> to tensor<8xf32>
// A count that is not positive selects all elements.
// CHECK: %[[LIMITED:.+]] = arith.cmpi sgt, %[[K]], %{{.+}} : i32
// CHECK: %[[FEWER:.+]] = arith.minsi %[[K]], %[[ALL:.+]] : i32
// CHECK: %[[WANTED:.+]] = arith.select %[[LIMITED]], %[[FEWER]], %[[ALL]] : i32
// CHECK: %[[COUNT:.+]] = scf.for %[[POSITION:.+]] = %{{.+}} to %c31{{.*}} iter_args(%[[FOUND:.+]] = %{{.+}}) -> (i32) {
// CHECK: %[[BIT:.+]] = arith.shrui %c1073741824_i32, %{{.+}} : i32
// CHECK: %[[TRIAL:.+]] = arith.ori %[[FOUND]], %[[BIT]] : i32
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[ROW]] :
// CHECK: %[[BITS:.+]] = arith.bitcast %{{.+}} : f32 to i32
// CHECK: %[[COUNTS:.+]] = arith.cmpi sge, %[[BITS]], %[[TRIAL]] : i32
// CHECK: %[[ONE:.+]] = arith.extui %[[COUNTS]] : i1 to i32
// CHECK: arith.addi %{{.+}}, %[[ONE]] : i32
// CHECK: %[[KEPT:.+]] = tensor.extract
// CHECK: %[[ENOUGH:.+]] = arith.cmpi sge, %[[KEPT]], %[[WANTED]] : i32
// CHECK: %[[NEXT:.+]] = arith.select %[[ENOUGH]], %[[TRIAL]], %[[FOUND]] : i32
// CHECK: scf.yield %[[NEXT]]
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[ROW]] :
// CHECK: arith.cmpi sge, %{{.+}}, %[[COUNT]] : i32
// CHECK: arith.addf
// CHECK: %[[TARGET:.+]] = arith.mulf %{{.+}}, %[[P]] : f32
// CHECK: %[[SUM:.+]] = scf.for
// CHECK: arith.maxsi %{{.+}}, %[[COUNT]] : i32
// CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[ROW]] :
// CHECK: arith.cmpf oge, %{{.+}}, %[[TARGET]] : f32
// CHECK: arith.cmpf ogt
// CHECK: %[[WHOLE:.+]] = arith.cmpf oge, %[[P]], %{{.+}} : f32
// CHECK: %[[BOTH:.+]] = arith.maxsi %[[COUNT]], %[[SUM]] : i32
// CHECK: %[[LEAST:.+]] = arith.select %[[WHOLE]], %[[COUNT]], %[[BOTH]] : i32
// CHECK: arith.bitcast %[[LEAST]] : i32 to f32
// CHECK-NOT: ark.top_threshold
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @thresholdIsABinarySearch(
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

// The epilogue of a threshold is computed per row; a larger tile from the user
// is reduced to one row.
// CHECK-LABEL: ark.program @epilogueOfAThreshold
// CHECK: ark.task "g" grid [2, 3]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: math.exp
ark.program @epilogueOfAThreshold(
    %x: tensor<2x3x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %k: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "k"},
    %p: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<2x3x1xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x, %b = %k, %c = %p) attributes {tile = array<i64: 2, 3, 1>}
      : (tensor<2x3x8xf32>, tensor<i32>, tensor<f32>) -> tensor<2x3x1xf32> {
    %r = ark.top_threshold %a k = %b p = %c : (tensor<2x3x8xf32>, tensor<i32>, tensor<f32>) -> tensor<2x3x1xf32>
    %e = ark.exp %r : (tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
    ark.yield %e : tensor<2x3x1xf32>
  }
  ark.return %0 : tensor<2x3x1xf32>
}
}
