// RUN: ark-opt %s --ark-verify-graph | FileCheck %s

// Views and tables lie between groups, splats inside of them. A state is read
// before its update, and the result of the update after it.
// CHECK-LABEL: ark.program @groupsViewsAndConstantsAreAccepted
ark.program @groupsViewsAndConstantsAreAccepted(
    %x: tensor<2x2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  // CHECK: ark.constant
  // CHECK: ark.reshape
  // CHECK: ark.group "early"
  // CHECK: ark.group "push"
  // CHECK: ark.group "late"
  %c = ark.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = ark.reshape %x shape = [4] : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = ark.group "early" (%a = %s, %b = %c) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %one = ark.constant dense<1.0> : tensor<4xf32>
    %4 = ark.add %a, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %5 = ark.mul %4, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ark.yield %5 : tensor<4xf32>
  }
  %2 = ark.group "push" (%a = %s, %b = %0) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
    %4 = ark.update %b into %a [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    ark.yield %4 : tensor<4xf32>
  }
  %3 = ark.group "late" (%a = %2) : (tensor<4xf32>) -> tensor<4xf32> {
    %4 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %4 : tensor<4xf32>
  }
  ark.return %1, %3 : tensor<4xf32>, tensor<4xf32>
}
