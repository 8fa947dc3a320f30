// RUN: ark-opt %s --ark-verify-input | FileCheck %s

// Views, elementwise ops, anchors, constants, joins and groups pass unchanged.
// CHECK-LABEL: ark.program @graphOpsAreAccepted
ark.program @graphOpsAreAccepted(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4x8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<8x8xf32> {ark.name = "y"}) {
  // CHECK: ark.constant
  // CHECK-NEXT: ark.transpose
  // CHECK-NEXT: ark.matmul
  // CHECK-NEXT: ark.add
  // CHECK-NEXT: ark.update
  // CHECK-NEXT: ark.concat
  // CHECK-NEXT: ark.group "act"
  %c = ark.constant dense<1.0> : tensor<4x4xf32>
  %0 = ark.transpose %x perm = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %1 = ark.matmul %x, %0 : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %2 = ark.add %1, %c : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ark.update %2 into %s [0, 4] : (tensor<4x8xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %4 = ark.concat %x, %3 axis = 0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %5 = ark.group "act" (%a = %4) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
    %6 = ark.relu %a : (tensor<8x8xf32>) -> tensor<8x8xf32>
    ark.yield %6 : tensor<8x8xf32>
  }
  ark.return %5 : tensor<8x8xf32>
}

// 2^47 bytes are allowed.
// CHECK-LABEL: ark.program @input_c1
ark.program @input_c1(
    %x: tensor<35184372088832x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<35184372088832x1xf32> {ark.name = "y"}) {
  // CHECK: ark.relu
  %0 = ark.relu %x : (tensor<35184372088832x1xf32>) -> tensor<35184372088832x1xf32>
  ark.return %0 : tensor<35184372088832x1xf32>
}
