// RUN: ark-opt %s --ark-compile="to=memory target=cpu:2" | FileCheck %s

// Two concatenations begin with the same zeros, which CSE merges. Each fills its own zeros: a copy of
// the first tensor, before the rest of it is filled, would read elements that no op has written.
// CHECK-LABEL: ark.program @equalFirstParts
// CHECK: ark.task
// CHECK-NOT: ark.task
// CHECK: memref.alloca() {{.*}} : memref<4x4xf32>
// CHECK: memref.alloca() {{.*}} : memref<4x4xf32>
// CHECK: linalg.fill
// CHECK-NOT: linalg.copy
// CHECK: linalg.fill
// CHECK: linalg.copy ins(%{{.+}} : memref<4x3xf32
// CHECK: linalg.copy ins(%{{.+}} : memref<4x3xf32
// CHECK: arith.mulf
ark.program @equalFirstParts(
    %x: tensor<4x3xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<4x3xf32> {ark.kind = #ark.kind<input>, ark.name = "y"})
    -> (tensor<4x4xf32> {ark.name = "z"}) {
  %zeros = ark.constant dense<0.0> : tensor<4x1xf32>
  %0 = ark.concat %zeros, %x axis = 1 : (tensor<4x1xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %1 = ark.concat %zeros, %y axis = 1 : (tensor<4x1xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %2 = ark.mul %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  ark.return %2 : tensor<4x4xf32>
}
