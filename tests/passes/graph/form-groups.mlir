// RUN: ark-opt %s --ark-form-groups --ark-verify-graph --split-input-file | FileCheck %s

// CHECK-LABEL: ark.program @epilogueJoinsItsMatmul
// CHECK-SAME: (%[[X:.+]]: tensor<64x384xf32> {{.*}}, %[[W:.+]]: tensor<1536x384xf32> {{.*}}, %[[BIAS:.+]]: tensor<1536xf32> {{.*}})
ark.program @epilogueJoinsItsMatmul(
    %x: tensor<64x384xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<1536x384xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %bias: tensor<1536xf32> {ark.kind = #ark.kind<parameter>, ark.name = "bias"})
    -> (tensor<64x1536xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[G:.+]] = ark.group "fc1" (%[[A:.+]] = %[[X]], %[[B:.+]] = %[[W]], %[[C:.+]] = %[[BIAS]])
  // CHECK-NEXT:   %[[MM:.+]] = ark.matmul %[[A]], %[[B]] {transpose_other}
  // CHECK-NEXT:   %[[SUM:.+]] = ark.add %[[MM]], %[[C]]
  // CHECK-NEXT:   %[[ACT:.+]] = ark.gelu %[[SUM]]
  // CHECK-NEXT:   ark.yield %[[ACT]]
  // CHECK-NEXT: }
  // CHECK-NEXT: ark.return %[[G]]
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<64x384xf32>, tensor<1536x384xf32>) -> tensor<64x1536xf32> loc("fc1")
  %1 = ark.add %0, %bias : (tensor<64x1536xf32>, tensor<1536xf32>) -> tensor<64x1536xf32>
  %2 = ark.gelu %1 approximate = none : (tensor<64x1536xf32>) -> tensor<64x1536xf32>
  ark.return %2 : tensor<64x1536xf32>
}

// -----

// A value that is also a result keeps a group of its own.
// CHECK-LABEL: ark.program @resultReadByAnotherOpIsNoPrologue
ark.program @resultReadByAnotherOpIsNoPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}, tensor<4x8xf32> {ark.name = "z"}) {
  // CHECK: %[[Y:.+]] = ark.group
  // CHECK-NEXT: ark.exp
  // CHECK: %[[Z:.+]] = ark.group
  // CHECK-NEXT: ark.softmax
  // CHECK: ark.return %[[Y]], %[[Z]]
  %0 = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ark.softmax %0 axis = 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %0, %1 : tensor<4x8xf32>, tensor<4x8xf32>
}
