// RUN: ark-opt %s --ark-form-groups=max-ops=2 | FileCheck %s

// CHECK-LABEL: ark.program @longChainIsSplit
ark.program @longChainIsSplit(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "matmul"
  // CHECK-NEXT: ark.matmul
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.yield
  // CHECK: ark.group "cos"
  // CHECK-NEXT: ark.sin
  // CHECK-NEXT: ark.cos
  // CHECK-NEXT: ark.yield
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ark.sin %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ark.cos %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %3 : tensor<4x8xf32>
}
