// RUN: ark-opt %s --ark-target=cpu:1 --ark-compile-to=tiling | FileCheck %s

// The first op of the chain computes in the tile of the result, of which a slice without the unit dimension is made
// before this op. The gather reads a copy of the first result, since the last op overwrites it.
// CHECK-LABEL: ark.program @gatherOfTheOtherOperand
// CHECK: ark.task "gather"
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[X:.*]]: tensor<1x3x5xf32>, %[[OUT:.*]]: tensor<1x3x5xf32>):
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[OUT]]
// CHECK: %[[SUM:.*]] = linalg.generic {{.*}} outs(%[[SLICE]] : tensor<3x5xf32>)
// CHECK: %[[COPY:.*]] = tensor.insert_slice %[[SUM]] into
// CHECK: %[[RESULT:.*]] = linalg.generic {{.*}} outs(%[[SUM]] : tensor<3x5xf32>)
// CHECK: tensor.extract %[[COPY]]
// CHECK: tensor.insert_slice %[[RESULT]] into %[[OUT]]
ark.program @gatherOfTheOtherOperand(%x: tensor<1x3x5xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x3x5xf32> {ark.name = "y"}) {
  %0 = ark.exp %x : (tensor<1x3x5xf32>) -> tensor<1x3x5xf32>
  %1 = ark.add %0, %x : (tensor<1x3x5xf32>, tensor<1x3x5xf32>) -> tensor<1x3x5xf32>
  %2 = ark.constant dense<0> : tensor<1xi64>
  %3 = ark.gather %1, %2 axis = 0 : (tensor<1x3x5xf32>, tensor<1xi64>) -> tensor<1x3x5xf32>
  %4 = ark.add %3, %1 : (tensor<1x3x5xf32>, tensor<1x3x5xf32>) -> tensor<1x3x5xf32>
  ark.return %4 : tensor<1x3x5xf32>
}
