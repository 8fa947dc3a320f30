// RUN: ark-opt %s --ark-isolate-results | FileCheck %s

// CHECK-LABEL: ark.program @resultOfAnOpIsNotCopied
ark.program @resultOfAnOpIsNotCopied(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[Y:.+]] = ark.exp
  // CHECK-NEXT: ark.return %[[Y]]
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// CHECK-LABEL: ark.program @argumentIsCopied
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>
ark.program @argumentIsCopied(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[Y:.+]] = ark.copy %[[X]]
  // CHECK-NEXT: ark.return %[[Y]]
  ark.return %x : tensor<4xf32>
}

// CHECK-LABEL: ark.program @constantIsCopied
ark.program @constantIsCopied() -> (tensor<2xi32> {ark.name = "y"}) {
  // CHECK: %[[C:.+]] = ark.constant
  // CHECK-NEXT: %[[Y:.+]] = ark.copy %[[C]]
  // CHECK-NEXT: ark.return %[[Y]]
  %0 = ark.constant dense<[1, 2]> : tensor<2xi32>
  ark.return %0 : tensor<2xi32>
}

// The view is copied even if it is the only reader of its operand.
// CHECK-LABEL: ark.program @viewIsCopied
ark.program @viewIsCopied(
    %x: tensor<2x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x2xf32> {ark.name = "y"}) {
  // CHECK: %[[VIEW:.+]] = ark.transpose
  // CHECK-NEXT: %[[Y:.+]] = ark.copy %[[VIEW]]
  // CHECK-NEXT: ark.return %[[Y]]
  %0 = ark.exp %x : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = ark.transpose %0 perm = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  ark.return %1 : tensor<4x2xf32>
}

// The result of an update is the buffer of the state.
// CHECK-LABEL: ark.program @updatedStateIsCopied
ark.program @updatedStateIsCopied(
    %x: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[S:.+]] = ark.update
  // CHECK-NEXT: %[[Y:.+]] = ark.copy %[[S]]
  // CHECK-NEXT: ark.return %[[Y]]
  %0 = ark.update %x into %s [1] : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// CHECK-LABEL: ark.program @secondResultOfOneOpIsCopied
ark.program @secondResultOfOneOpIsCopied(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  // CHECK-NEXT: %[[Y:.+]] = ark.exp
  // CHECK-NEXT: %[[Z:.+]] = ark.copy %[[Y]]
  // CHECK-NEXT: ark.return %[[Y]], %[[Z]]
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %0, %0 : tensor<4xf32>, tensor<4xf32>
}
