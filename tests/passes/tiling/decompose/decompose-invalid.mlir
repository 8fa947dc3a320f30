// RUN: ark-opt %s --ark-decompose --split-input-file --verify-diagnostics

// A table must be outside of groups.
ark.program @tableInsideOfAGroup(
    %x: tensor<4x2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x4xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x) : (tensor<4x2xf32>) -> tensor<4x4xf32> {
    // expected-error @below {{failed to legalize operation 'ark.constant'}}
    %1 = ark.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
    %2 = ark.matmul %a, %1 : (tensor<4x2xf32>, tensor<2x4xf32>) -> tensor<4x4xf32>
    ark.yield %2 : tensor<4x4xf32>
  }
  ark.return %0 : tensor<4x4xf32>
}

// -----

ark.program @viewInsideOfAGroup(
    %x: tensor<4x2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x4xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x) : (tensor<4x2xf32>) -> tensor<2x4xf32> {
    // expected-error @below {{failed to legalize operation 'ark.transpose'}}
    %1 = ark.transpose %a perm = [1, 0] : (tensor<4x2xf32>) -> tensor<2x4xf32>
    ark.yield %1 : tensor<2x4xf32>
  }
  ark.return %0 : tensor<2x4xf32>
}
