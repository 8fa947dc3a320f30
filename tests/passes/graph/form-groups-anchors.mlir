// RUN: ark-opt %s --ark-form-groups --ark-verify-graph --split-input-file | FileCheck %s

// Every anchor here takes an epilogue.

// CHECK-LABEL: ark.program @reductionTakesAPrologue
ark.program @reductionTakesAPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "out"}) {
  // CHECK: ark.group "reduce_max"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.reduce_max
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.reduce_max %v axes = [1] keepdims = false : (tensor<4x8xf32>) -> tensor<4xf32>
  %1 = ark.abs %0 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @argmaxTakesAPrologue
ark.program @argmaxTakesAPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi32> {ark.name = "out"}) {
  // CHECK: ark.group "argmax"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.argmax
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.argmax %v axis = 1 : (tensor<4x8xf32>) -> tensor<4xi32>
  %1 = ark.abs %0 : (tensor<4xi32>) -> tensor<4xi32>
  ark.return %1 : tensor<4xi32>
}

// -----

// CHECK-LABEL: ark.program @partialArgmaxTakesAPrologue
ark.program @partialArgmaxTakesAPrologue(
    %x: tensor<4x2x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x2xi64> {ark.name = "out"}) {
  // CHECK: ark.group "partial_argmax"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.partial_argmax
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x2x8xf32>) -> tensor<4x2x8xf32>
  %0 = ark.partial_argmax %v axis = 2 : (tensor<4x2x8xf32>) -> tensor<4x2xi64>
  %1 = ark.abs %0 : (tensor<4x2xi64>) -> tensor<4x2xi64>
  ark.return %1 : tensor<4x2xi64>
}

// -----

// CHECK-LABEL: ark.program @softmaxTakesAPrologue
ark.program @softmaxTakesAPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "out"}) {
  // CHECK: ark.group "softmax"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.softmax
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.softmax %v axis = 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ark.abs %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: ark.program @layernormTakesAPrologue
ark.program @layernormTakesAPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "out"}) {
  // CHECK: ark.group "layernorm"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.layernorm
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.layernorm %v eps = 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ark.abs %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: ark.program @ropeTakesAPrologueOfItsOperandOnly
ark.program @ropeTakesAPrologueOfItsOperandOnly(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<4x8xf32> {ark.name = "out"}) {
  // CHECK: ark.group "rope"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.rope
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.rope %v, %y, %z : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %1 = ark.abs %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: ark.program @thresholdTakesNoPrologue
ark.program @thresholdTakesNoPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<4x1xf32> {ark.name = "out"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "top_threshold"
  // CHECK-NEXT: ark.top_threshold
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.top_threshold %v k = %y p = %z : (tensor<4x8xf32>, tensor<i32>, tensor<f32>) -> tensor<4x1xf32>
  %1 = ark.abs %0 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  ark.return %1 : tensor<4x1xf32>
}

// -----

// CHECK-LABEL: ark.program @attentionTakesNoPrologue
ark.program @attentionTakesNoPrologue(
    %x: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<2x4x8xf32> {ark.name = "out"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "attention"
  // CHECK-NEXT: ark.attention
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %0 = ark.attention %v, %y, %z scale = 1.0 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  %1 = ark.abs %0 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  ark.return %1 : tensor<2x4x8xf32>
}

// -----

// CHECK-LABEL: ark.program @combinedAttentionTakesNoPrologue
ark.program @combinedAttentionTakesNoPrologue(
    %x: tensor<2x4x3x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x4x6xf32> {ark.name = "out"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "combine_attention"
  // CHECK-NEXT: ark.combine_attention
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<2x4x3x8xf32>) -> tensor<2x4x3x8xf32>
  %0 = ark.combine_attention %v : (tensor<2x4x3x8xf32>) -> tensor<2x4x6xf32>
  %1 = ark.abs %0 : (tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  ark.return %1 : tensor<2x4x6xf32>
}

// -----

// CHECK-LABEL: ark.program @gatherTakesNoPrologue
ark.program @gatherTakesNoPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<2xi32> {ark.kind = #ark.kind<input>, ark.name = "y"})
    -> (tensor<2x8xf32> {ark.name = "out"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "gather"
  // CHECK-NEXT: ark.gather
  // CHECK-NEXT: ark.abs
  %v = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.gather %v, %y axis = 0 : (tensor<4x8xf32>, tensor<2xi32>) -> tensor<2x8xf32>
  %1 = ark.abs %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  ark.return %1 : tensor<2x8xf32>
}
