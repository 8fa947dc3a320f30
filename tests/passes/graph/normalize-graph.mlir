// RUN: ark-opt %s --ark-normalize-graph --split-input-file | FileCheck %s

//===----------------------------------------------------------------------===//
// Views that the reader absorbs
//===----------------------------------------------------------------------===//

// CHECK-LABEL: ark.program @transposesMoveIntoTheMatmul
// CHECK-SAME: (%[[X:.+]]: tensor<64x4xf32> {{.*}}, %[[W:.+]]: tensor<256x64xf32> {{.*}})
ark.program @transposesMoveIntoTheMatmul(
    %x: tensor<64x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<256x64xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x256xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.matmul %[[X]], %[[W]] {transpose_input, transpose_other} : (tensor<64x4xf32>, tensor<256x64xf32>)
  %0 = ark.transpose %x perm = [1, 0] : (tensor<64x4xf32>) -> tensor<4x64xf32>
  %1 = ark.transpose %w perm = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
  %2 = ark.matmul %0, %1 : (tensor<4x64xf32>, tensor<64x256xf32>) -> tensor<4x256xf32>
  ark.return %2 : tensor<4x256xf32>
}

// -----

// CHECK-LABEL: ark.program @transposeUndoesThatOfTheMatmul
// CHECK-SAME: (%[[X:.+]]: tensor<4x64xf32> {{.*}}, %[[W:.+]]: tensor<64x256xf32> {{.*}})
ark.program @transposeUndoesThatOfTheMatmul(
    %x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x256xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x256xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.matmul %[[X]], %[[W]] : (tensor<4x64xf32>, tensor<64x256xf32>)
  %0 = ark.transpose %w perm = [1, 0] : (tensor<64x256xf32>) -> tensor<256x64xf32>
  %1 = ark.matmul %x, %0 {transpose_other} : (tensor<4x64xf32>, tensor<256x64xf32>) -> tensor<4x256xf32>
  ark.return %1 : tensor<4x256xf32>
}

// -----

// CHECK-LABEL: ark.program @transposeOfABatchDimensionStays
ark.program @transposeOfABatchDimensionStays(
    %x: tensor<8x2x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2x8x16xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[T:.+]] = ark.transpose
  // CHECK-NEXT: ark.matmul %[[T]], %{{.+}} : (tensor<2x8x4xf32>, tensor<4x16xf32>)
  %0 = ark.transpose %x perm = [1, 0, 2] : (tensor<8x2x4xf32>) -> tensor<2x8x4xf32>
  %1 = ark.matmul %0, %w : (tensor<2x8x4xf32>, tensor<4x16xf32>) -> tensor<2x8x16xf32>
  ark.return %1 : tensor<2x8x16xf32>
}

// -----

// CHECK-LABEL: ark.program @broadcastMovesIntoTheElementwiseOp
// CHECK-SAME: (%[[X:.+]]: tensor<4x256xf32> {{.*}}, %[[B:.+]]: tensor<256xf32> {{.*}})
ark.program @broadcastMovesIntoTheElementwiseOp(
    %x: tensor<4x256xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %b: tensor<256xf32> {ark.kind = #ark.kind<parameter>, ark.name = "b"})
    -> (tensor<4x256xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.add %[[X]], %[[B]] : (tensor<4x256xf32>, tensor<256xf32>)
  %0 = ark.broadcast_to %b shape = [4, 256] : (tensor<256xf32>) -> tensor<4x256xf32>
  %1 = ark.add %x, %0 : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  ark.return %1 : tensor<4x256xf32>
}

// -----

// One of the two broadcasts has to stay, since the result would lose its rows otherwise.
// CHECK-LABEL: ark.program @broadcastThatMakesTheShapeStays
ark.program @broadcastThatMakesTheShapeStays(
    %a: tensor<256xf32> {ark.kind = #ark.kind<input>, ark.name = "a"},
    %b: tensor<256xf32> {ark.kind = #ark.kind<input>, ark.name = "b"})
    -> (tensor<4x256xf32> {ark.name = "y"}) {
  // CHECK: ark.broadcast_to
  // CHECK-NOT: ark.broadcast_to
  // CHECK: ark.add {{.*}} -> tensor<4x256xf32>
  %0 = ark.broadcast_to %a shape = [4, 256] : (tensor<256xf32>) -> tensor<4x256xf32>
  %1 = ark.broadcast_to %b shape = [4, 256] : (tensor<256xf32>) -> tensor<4x256xf32>
  %2 = ark.add %0, %1 : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
  ark.return %2 : tensor<4x256xf32>
}

// -----

// CHECK-LABEL: ark.program @functionIsComputedBeforeTheBroadcast
ark.program @functionIsComputedBeforeTheBroadcast(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf16> {ark.name = "y"}) {
  // CHECK-NEXT: %[[E:.+]] = ark.exp %{{.+}} : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK-NEXT: %[[C:.+]] = ark.cast %[[E]] to f16 : (tensor<8xf32>) -> tensor<8xf16>
  // CHECK-NEXT: ark.broadcast_to %[[C]] shape = [4, 8]
  %0 = ark.broadcast_to %x shape = [4, 8] : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = ark.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ark.cast %1 to f16 : (tensor<4x8xf32>) -> tensor<4x8xf16>
  ark.return %2 : tensor<4x8xf16>
}

// -----

// The user asked for a copy, so its buffer has the full shape.
// CHECK-LABEL: ark.program @copyOfABroadcastStays
ark.program @copyOfABroadcastStays(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[B:.+]] = ark.broadcast_to
  // CHECK-NEXT: %[[C:.+]] = ark.copy %[[B]]
  // CHECK-NEXT: ark.return %[[C]]
  %0 = ark.broadcast_to %x shape = [4, 8] : (tensor<8xf32>) -> tensor<4x8xf32>
  %1 = ark.copy %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: ark.program @leadingBroadcastMovesIntoTheMatmul
ark.program @leadingBroadcastMovesIntoTheMatmul(
    %x: tensor<3x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<3x4x16xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.matmul %{{.+}}, %{{.+}} : (tensor<3x4x8xf32>, tensor<8x16xf32>) -> tensor<3x4x16xf32>
  %0 = ark.broadcast_to %w shape = [3, 8, 16] : (tensor<8x16xf32>) -> tensor<3x8x16xf32>
  %1 = ark.matmul %x, %0 : (tensor<3x4x8xf32>, tensor<3x8x16xf32>) -> tensor<3x4x16xf32>
  ark.return %1 : tensor<3x4x16xf32>
}

// -----

// The batch of the result, or the rows of the matrix, exist only in the view.
// CHECK-LABEL: ark.program @broadcastsThatTheMatmulNeedsStay
ark.program @broadcastsThatTheMatmulNeedsStay(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<1x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<3x4x16xf32> {ark.name = "y"}) {
  // CHECK-DAG: %[[X:.+]] = ark.broadcast_to {{.*}} -> tensor<3x4x8xf32>
  // CHECK-DAG: %[[W:.+]] = ark.broadcast_to {{.*}} -> tensor<8x16xf32>
  // CHECK: ark.matmul %[[X]], %[[W]]
  %0 = ark.broadcast_to %x shape = [3, 4, 8] : (tensor<4x8xf32>) -> tensor<3x4x8xf32>
  %1 = ark.broadcast_to %w shape = [8, 16] : (tensor<1x16xf32>) -> tensor<8x16xf32>
  %2 = ark.matmul %0, %1 : (tensor<3x4x8xf32>, tensor<8x16xf32>) -> tensor<3x4x16xf32>
  ark.return %2 : tensor<3x4x16xf32>
}

// -----

// CHECK-LABEL: ark.program @broadcastMovesIntoTheMask
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<1x16xi1>
ark.program @broadcastMovesIntoTheMask(
    %q: tensor<2x8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x4xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %m: tensor<1x16xi1> {ark.kind = #ark.kind<input>, ark.name = "m"})
    -> (tensor<2x8x4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.attention {{.*}} mask %[[M]] scale
  %0 = ark.broadcast_to %m shape = [2, 8, 16] : (tensor<1x16xi1>) -> tensor<2x8x16xi1>
  %1 = ark.attention %q, %k, %k mask %0 scale = 5.0e-1
    : (tensor<2x8x4xf32>, tensor<2x16x4xf32>, tensor<2x16x4xf32>, tensor<2x8x16xi1>) -> tensor<2x8x4xf32>
  ark.return %1 : tensor<2x8x4xf32>
}

// -----

// Operands of an attention and of its log-sum-exp stay equal.
// CHECK-LABEL: ark.program @broadcastMovesIntoTheMaskOfALogSumExp
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<1x16xi1>
ark.program @broadcastMovesIntoTheMaskOfALogSumExp(
    %q: tensor<2x8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x4xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %m: tensor<1x16xi1> {ark.kind = #ark.kind<input>, ark.name = "m"})
    -> (tensor<2x8x1xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.attention_log_sum_exp {{.*}} mask %[[M]] scale
  %0 = ark.broadcast_to %m shape = [2, 8, 16] : (tensor<1x16xi1>) -> tensor<2x8x16xi1>
  %1 = ark.attention_log_sum_exp %q, %k, %k mask %0 scale = 5.0e-1
    : (tensor<2x8x4xf32>, tensor<2x16x4xf32>, tensor<2x16x4xf32>, tensor<2x8x16xi1>) -> tensor<2x8x1xf32>
  ark.return %1 : tensor<2x8x1xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Views of views
//===----------------------------------------------------------------------===//

// An empty slice begins at an offset that is valid in every source.
// CHECK-LABEL: ark.program @emptySlicesCompose
// CHECK-SAME: (%[[X:.+]]: tensor<3xf32> {{.*}})
ark.program @emptySlicesCompose(
    %x: tensor<3xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<0xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.constant dense<> : tensor<0xf32>
  %0 = ark.slice %x starts = [2] stops = [3] steps = [3] : (tensor<3xf32>) -> tensor<1xf32>
  %1 = ark.slice %0 starts = [1] stops = [1] steps = [1] : (tensor<1xf32>) -> tensor<0xf32>
  ark.return %1 : tensor<0xf32>
}

// -----

// The inner slice has elements 2, 5, 8, 11, 14, 17 of the operand, the outer one elements 5 and 11.
// CHECK-LABEL: ark.program @slicesCompose
// CHECK-SAME: (%[[X:.+]]: tensor<20xf32>
ark.program @slicesCompose(
    %x: tensor<20xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.slice %[[X]] starts = [5] stops = [12] steps = [6] : (tensor<20xf32>) -> tensor<2xf32>
  %0 = ark.slice %x starts = [2] stops = [20] steps = [3] : (tensor<20xf32>) -> tensor<6xf32>
  %1 = ark.slice %0 starts = [1] stops = [5] steps = [2] : (tensor<6xf32>) -> tensor<2xf32>
  ark.return %1 : tensor<2xf32>
}

// -----

// CHECK-LABEL: ark.program @broadcastsCompose
// CHECK-SAME: (%[[X:.+]]: tensor<1x4xf32>
ark.program @broadcastsCompose(
    %x: tensor<1x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x3x4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.broadcast_to %[[X]] shape = [2, 3, 4] : (tensor<1x4xf32>) -> tensor<2x3x4xf32>
  %0 = ark.broadcast_to %x shape = [3, 4] : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %1 = ark.broadcast_to %0 shape = [2, 3, 4] : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  ark.return %1 : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: ark.program @transposeOfUnitDimensionsIsAReshape
ark.program @transposeOfUnitDimensionsIsAReshape(
    %x: tensor<1x4x1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x1x8x1xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.reshape %{{.+}} shape = [4, 1, 8, 1]
  %0 = ark.transpose %x perm = [1, 0, 3, 2] : (tensor<1x4x1x8xf32>) -> tensor<4x1x8x1xf32>
  ark.return %0 : tensor<4x1x8x1xf32>
}

// -----

// CHECK-LABEL: ark.program @viewOfASplatIsASplat
ark.program @viewOfASplatIsASplat() -> (tensor<2x3xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[C:.+]] = ark.constant dense<2.000000e+00> : tensor<2x3xf32>
  // CHECK-NEXT: ark.return %[[C]]
  %0 = ark.constant dense<2.0> : tensor<8x2xf32>
  %1 = ark.slice %0 starts = [0, 0] stops = [3, 2] steps = [1, 1] : (tensor<8x2xf32>) -> tensor<3x2xf32>
  %2 = ark.transpose %1 perm = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
  ark.return %2 : tensor<2x3xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Identities
//===----------------------------------------------------------------------===//

// Arguments and constants are complete before the first task, so that no dependence on them is needed.
// CHECK-LABEL: ark.program @identityWithoutDependencesDisappears
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32> {{.*}}, %{{.+}}: tensor<8xf32>
ark.program @identityWithoutDependencesDisappears(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK-NOT: ark.identity
  // CHECK: ark.exp %[[X]]
  %c = ark.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = ark.identity %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.identity %0 after %z, %c : (tensor<4xf32>, tensor<8xf32>, tensor<2xf32>) -> tensor<4xf32>
  %2 = ark.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @nestedIdentitiesJoin
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>
ark.program @nestedIdentitiesJoin(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK-DAG: %[[A:.+]] = ark.exp
  // CHECK-DAG: %[[B:.+]] = ark.sin
  // CHECK: %[[I:.+]] = ark.identity %[[X]] after %[[B]], %[[A]]
  // CHECK-NOT: ark.identity
  // CHECK: ark.cos %[[I]]
  %a = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = ark.sin %x : (tensor<4xf32>) -> tensor<4xf32>
  %0 = ark.identity %x after %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.identity %0 after %b, %x : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.cos %1 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %2 : tensor<4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Tensors without elements
//===----------------------------------------------------------------------===//

// CHECK-LABEL: ark.program @tensorWithoutElementsBecomesAConstant
ark.program @tensorWithoutElementsBecomesAConstant(
    %x: tensor<0x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<0x4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[C:.+]] = ark.constant {{.*}}tensor<0x4xf32>
  // CHECK-NEXT: ark.return %[[C]]
  %0 = ark.softmax %x axis = 1 : (tensor<0x4xf32>) -> tensor<0x4xf32>
  ark.return %0 : tensor<0x4xf32>
}

// -----

// CHECK-LABEL: ark.program @reductionOfNoElementsIsItsInitialValue
ark.program @reductionOfNoElementsIsItsInitialValue(
    %x: tensor<4x0xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<4x0xui8> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<4xf32> {ark.name = "sum"}, tensor<4xf32> {ark.name = "mean"},
        tensor<4xf32> {ark.name = "max"}, tensor<4xui8> {ark.name = "min"}, tensor<4x4xf32> {ark.name = "product"}) {
  // CHECK-DAG: %[[SUM:.+]] = ark.constant dense<0.000000e+00> : tensor<4xf32>
  // CHECK-DAG: %[[MEAN:.+]] = ark.constant dense<0x7FC00000> : tensor<4xf32>
  // CHECK-DAG: %[[MAX:.+]] = ark.constant dense<0xFF800000> : tensor<4xf32>
  // CHECK-DAG: %[[MIN:.+]] = ark.constant dense<255> : tensor<4xui8>
  // CHECK-DAG: %[[PRODUCT:.+]] = ark.constant dense<0.000000e+00> : tensor<4x4xf32>
  // CHECK: ark.return %[[SUM]], %[[MEAN]], %[[MAX]], %[[MIN]], %[[PRODUCT]]
  %0 = ark.reduce_sum %x axes = [1] keepdims = false : (tensor<4x0xf32>) -> tensor<4xf32>
  %1 = ark.reduce_mean %x axes = [1] keepdims = false : (tensor<4x0xf32>) -> tensor<4xf32>
  %2 = ark.reduce_max %x axes = [1] keepdims = false : (tensor<4x0xf32>) -> tensor<4xf32>
  %3 = ark.reduce_min %i axes = [1] keepdims = false : (tensor<4x0xui8>) -> tensor<4xui8>
  %4 = ark.matmul %x, %x {transpose_other} : (tensor<4x0xf32>, tensor<4x0xf32>) -> tensor<4x4xf32>
  ark.return %0, %1, %2, %3, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xui8>, tensor<4x4xf32>
}

// -----

// CHECK-LABEL: ark.program @updateWithoutElementsIsTheState
// CHECK-SAME: (%[[S:.+]]: tensor<4xf32>
ark.program @updateWithoutElementsIsTheState(
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<0xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: ark.exp %[[S]]
  %0 = ark.update %x into %s [2] : (tensor<4xf32>, tensor<0xf32>) -> tensor<4xf32>
  %1 = ark.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @concatLosesPartsWithoutElements
// CHECK-SAME: (%[[X:.+]]: tensor<2xf32> {{.*}}, %[[E:.+]]: tensor<0xf32> {{.*}})
ark.program @concatLosesPartsWithoutElements(
    %x: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %e: tensor<0xf32> {ark.kind = #ark.kind<input>, ark.name = "e"})
    -> (tensor<2xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  // CHECK-NEXT: %[[Z:.+]] = ark.concat %[[X]], %[[X]] axis = 0
  // CHECK-NEXT: ark.return %[[X]], %[[Z]]
  %0 = ark.concat %e, %x axis = 0 : (tensor<0xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = ark.concat %x, %e, %x axis = 0 : (tensor<2xf32>, tensor<0xf32>, tensor<2xf32>) -> tensor<4xf32>
  ark.return %0, %1 : tensor<2xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @concatOfManyBecomesATree
ark.program @concatOfManyBecomesATree(%x: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<80xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[A:.+]] = ark.concat {{.+}} axis = 0 {ark.plan = {{.+}}} : {{.+}} -> tensor<32xf32>
  // CHECK-NEXT: %[[B:.+]] = ark.concat {{.+}} axis = 0 {{.+}} -> tensor<32xf32>
  // CHECK-NEXT: %[[C:.+]] = ark.concat {{.+}} axis = 0 {{.+}} -> tensor<16xf32>
  // CHECK-NEXT: ark.concat %[[A]], %[[B]], %[[C]] axis = 0
  %0 = ark.concat %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x
      axis = 0 {ark.plan = {tile = array<i64: 16>}}
      : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<80xf32>
  ark.return %0 : tensor<80xf32>
}

// -----

//===----------------------------------------------------------------------===//
// States
//===----------------------------------------------------------------------===//

// CHECK-LABEL: ark.program @readAfterTheUpdateReadsACopy
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<2x4xf32>
ark.program @readAfterTheUpdateReadsACopy(
    %x: tensor<2x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<2x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x4xf32> {ark.name = "before"}, tensor<4x2xf32> {ark.name = "after"}) {
  // CHECK-NEXT: %[[BEFORE:.+]] = ark.exp %[[S]]
  // CHECK-NEXT: %[[COPY:.+]] = ark.copy %[[S]]
  // CHECK-NEXT: ark.update %{{.+}} into %[[S]]
  // CHECK-NEXT: %[[VIEW:.+]] = ark.transpose %[[COPY]]
  // CHECK-NEXT: %[[AFTER:.+]] = ark.exp %[[VIEW]]
  // CHECK-NEXT: ark.return %[[BEFORE]], %[[AFTER]]
  %view = ark.transpose %s perm = [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
  %0 = ark.exp %s : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = ark.update %x into %s [0, 3] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = ark.exp %view : (tensor<4x2xf32>) -> tensor<4x2xf32>
  ark.return %0, %2 : tensor<2x4xf32>, tensor<4x2xf32>
}

// -----

// CHECK-LABEL: ark.program @readOfTheUpdatedStateNeedsNoCopy
ark.program @readOfTheUpdatedStateNeedsNoCopy(
    %x: tensor<2x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<2x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x4xf32> {ark.name = "y"}) {
  // CHECK-NOT: ark.copy
  // CHECK: %[[NEW:.+]] = ark.update
  // CHECK-NEXT: ark.exp %[[NEW]]
  %0 = ark.update %x into %s [0, 3] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %1 = ark.exp %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  ark.return %1 : tensor<2x4xf32>
}

// -----

// The concat disappears. Its readers read the state after the update.
// CHECK-LABEL: ark.program @concatOfAStateAlone
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<2x4xf32>
ark.program @concatOfAStateAlone(
    %x: tensor<2x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<2x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[COPY:.+]] = ark.copy %[[S]]
  // CHECK-NEXT: ark.update %{{.+}} into %[[S]]
  // CHECK-NEXT: ark.exp %[[COPY]]
  %0 = ark.concat %s axis = 0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = ark.update %x into %s [0, 3] : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = ark.exp %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  ark.return %2 : tensor<2x4xf32>
}

// -----

// The update shifts a state: no vCTA may read what another vCTA has written.
// CHECK-LABEL: ark.program @updateFromItsOwnStateReadsACopy
ark.program @updateFromItsOwnStateReadsACopy(
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[TAIL:.+]] = ark.slice
  // CHECK-NEXT: %[[COPY:.+]] = ark.copy %[[TAIL]] : (tensor<3xf32>)
  // CHECK-NEXT: ark.update %[[COPY]] into
  %0 = ark.slice %s starts = [1] stops = [4] steps = [1] : (tensor<4xf32>) -> tensor<3xf32>
  %1 = ark.update %0 into %s [0] : (tensor<4xf32>, tensor<3xf32>) -> tensor<4xf32>
  %2 = ark.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %2 : tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @everyUpdateOfAChainHasItsOwnCopy
ark.program @everyUpdateOfAChainHasItsOwnCopy(
    %x: tensor<1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "a"}, tensor<4xf32> {ark.name = "b"}) {
  // CHECK-NEXT: %[[OLD:.+]] = ark.copy
  // CHECK-NEXT: %[[FIRST:.+]] = ark.update
  // CHECK-NEXT: %[[MIDDLE:.+]] = ark.copy %[[FIRST]]
  // CHECK-NEXT: ark.update %{{.+}} into %[[FIRST]]
  // CHECK-NEXT: ark.exp %[[OLD]]
  // CHECK-NEXT: ark.exp %[[MIDDLE]]
  %0 = ark.update %x into %s [0] : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %1 = ark.update %x into %0 [1] : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
  %2 = ark.exp %s : (tensor<4xf32>) -> tensor<4xf32>
  %3 = ark.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// -----

// One use of the identity is its source and its dependence; the use counts as a read.
// CHECK-LABEL: ark.program @identityOfAStateAfterItself
ark.program @identityOfAStateAfterItself(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: %[[COPY:.+]] = ark.copy
  // CHECK: ark.update
  // CHECK: ark.exp %[[COPY]]
  %0 = ark.identity %s after %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.update %x into %s [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %2 : tensor<4xf32>
}

// -----

// A dependence on a state is not a read of it.
// CHECK-LABEL: ark.program @dependenceOnAStateNeedsNoCopy
ark.program @dependenceOnAStateNeedsNoCopy(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  // CHECK-NOT: ark.copy
  // CHECK: ark.return
  %0 = ark.update %x into %s [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.update %x into %0 [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.reshape %0 shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  %3 = ark.identity %x after %s, %2 : (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>) -> tensor<4xf32>
  %4 = ark.exp %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = ark.tanh %1 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %4, %5 : tensor<4xf32>, tensor<4xf32>
}

// -----

// A bitcast of a splat is a splat if its elements grow, or if all parts of the value are equal.
// CHECK-LABEL: ark.program @bitcastOfOneValue
ark.program @bitcastOfOneValue() -> (tensor<2xi32> {ark.name = "a"}, tensor<8xi8> {ark.name = "b"}, tensor<8xui8> {ark.name = "c"}, tensor<4xui8> {ark.name = "d"}) {
  // CHECK-DAG: %[[A:.+]] = ark.constant dense<33686018> : tensor<2xi32>
  // CHECK-DAG: %[[B:.+]] = ark.constant dense<-1> : tensor<8xi8>
  // CHECK-DAG: %[[ONE:.+]] = ark.constant dense<1.000000e+00> : tensor<2xf32>
  // CHECK-DAG: %[[C:.+]] = ark.bitcast %[[ONE]] to ui8
  // CHECK-DAG: %[[D:.+]] = ark.constant dense<1> : tensor<4xui8>
  // CHECK: ark.return %[[A]], %[[B]], %[[C]], %[[D]]
  %bytes = ark.constant dense<2> : tensor<8xi8>
  %0 = ark.bitcast %bytes to i32 : (tensor<8xi8>) -> tensor<2xi32>
  %words = ark.constant dense<-1> : tensor<2xi32>
  %1 = ark.bitcast %words to i8 : (tensor<2xi32>) -> tensor<8xi8>
  %one = ark.constant dense<1.0> : tensor<2xf32>
  %2 = ark.bitcast %one to ui8 : (tensor<2xf32>) -> tensor<8xui8>
  %true = ark.constant dense<true> : tensor<4xi1>
  %3 = ark.bitcast %true to ui8 : (tensor<4xi1>) -> tensor<4xui8>
  ark.return %0, %1, %2, %3 : tensor<2xi32>, tensor<8xi8>, tensor<8xui8>, tensor<4xui8>
}

// -----

// A noop of an argument or constant disappears; a noop of a view keeps the base of the view.
// CHECK-LABEL: ark.program @noopOfAViewKeepsItsBase
ark.program @noopOfAViewKeepsItsBase(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: %[[EXP:.+]] = ark.exp
  // CHECK-NEXT: ark.noop %[[EXP]] : tensor<4xf32>
  // CHECK-NOT: ark.noop
  // CHECK-NOT: ark.copy
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.reshape %0 shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  ark.noop %1 : tensor<2x2xf32>
  ark.noop %x : tensor<4xf32>
  %c = ark.constant dense<1.0> : tensor<4xf32>
  ark.noop %c : tensor<4xf32>
  %2 = ark.update %x into %s [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ark.noop %s : tensor<4xf32>
  ark.noop %2 : tensor<4xf32>
  %3 = ark.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %3 : tensor<4xf32>
}

// -----

//===----------------------------------------------------------------------===//
// Views of the result of a norm
//===----------------------------------------------------------------------===//

// The views split the result of a projection into heads before the norm of each head.
// CHECK-LABEL: ark.program @viewsComeBeforeANorm
ark.program @viewsComeBeforeANorm(
    %x: tensor<6x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "g"})
    -> (tensor<2x4x3x16xf32> {ark.name = "y"}) {
  // CHECK: %[[HEADS:.+]] = ark.reshape %arg0 shape = [2, 3, 4, 16]
  // CHECK: %[[ROWS:.+]] = ark.transpose %[[HEADS]] perm = [0, 2, 1, 3]
  // CHECK: %[[NORM:.+]] = ark.rmsnorm %[[ROWS]] weight %arg1
  // CHECK-NEXT: ark.return %[[NORM]]
  %0 = ark.reshape %x shape = [2, 3, 4, 16] : (tensor<6x64xf32>) -> tensor<2x3x4x16xf32>
  %1 = ark.rmsnorm %0 weight %g eps = 1.0e-6 : (tensor<2x3x4x16xf32>, tensor<16xf32>) -> tensor<2x3x4x16xf32>
  %2 = ark.transpose %1 perm = [0, 2, 1, 3] : (tensor<2x3x4x16xf32>) -> tensor<2x4x3x16xf32>
  ark.return %2 : tensor<2x4x3x16xf32>
}

// -----

// These views stay: they change the rows of the norm, or the norm would lose its prologue.
// CHECK-LABEL: ark.program @viewsStayBehindANorm
ark.program @viewsStayBehindANorm(
    %x: tensor<6x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x3x16x4xf32> {ark.name = "y"}, tensor<24x16xf32> {ark.name = "z"}, tensor<64x6xf32> {ark.name = "w"}) {
  // CHECK: ark.layernorm
  // CHECK-NEXT: ark.transpose {{.*}} perm = [0, 1, 3, 2]
  // CHECK: ark.layernorm
  // CHECK: ark.reshape {{.*}} shape = [24, 16]
  // CHECK: ark.exp
  // CHECK-NEXT: ark.rmsnorm
  // CHECK-NEXT: ark.transpose
  %0 = ark.reshape %x shape = [2, 3, 4, 16] : (tensor<6x64xf32>) -> tensor<2x3x4x16xf32>
  %1 = ark.layernorm %0 eps = 1.0e-6 : (tensor<2x3x4x16xf32>) -> tensor<2x3x4x16xf32>
  %2 = ark.transpose %1 perm = [0, 1, 3, 2] : (tensor<2x3x4x16xf32>) -> tensor<2x3x16x4xf32>
  %3 = ark.reshape %x shape = [12, 32] : (tensor<6x64xf32>) -> tensor<12x32xf32>
  %4 = ark.layernorm %3 eps = 1.0e-6 : (tensor<12x32xf32>) -> tensor<12x32xf32>
  %5 = ark.reshape %4 shape = [24, 16] : (tensor<12x32xf32>) -> tensor<24x16xf32>
  %6 = ark.exp %x : (tensor<6x64xf32>) -> tensor<6x64xf32>
  %7 = ark.rmsnorm %6 eps = 1.0e-6 : (tensor<6x64xf32>) -> tensor<6x64xf32>
  %8 = ark.transpose %7 perm = [1, 0] : (tensor<6x64xf32>) -> tensor<64x6xf32>
  ark.return %2, %5, %8 : tensor<2x3x16x4xf32>, tensor<24x16xf32>, tensor<64x6xf32>
}

// -----

// The norm reads the state before its update, and so must not move behind it.
// CHECK-LABEL: ark.program @normOfAStateBeforeItsUpdate
ark.program @normOfAStateBeforeItsUpdate(
    %x: tensor<4x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x2x16xf32> {ark.name = "y"}) {
  // CHECK: ark.rmsnorm
  // CHECK: ark.update
  // CHECK-NEXT: ark.return
  %0 = ark.reshape %s shape = [4, 1, 16] : (tensor<4x16xf32>) -> tensor<4x1x16xf32>
  %1 = ark.rmsnorm %0 eps = 1.0e-6 : (tensor<4x1x16xf32>) -> tensor<4x1x16xf32>
  %2 = ark.update %x into %s [0, 0] : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
  %3 = ark.reshape %1 shape = [2, 2, 16] : (tensor<4x1x16xf32>) -> tensor<2x2x16xf32>
  ark.return %3 : tensor<2x2x16xf32>
}

// -----

// CHECK-LABEL: ark.program @reductionOfUnits
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x4x1xf32>
ark.program @reductionOfUnits(
    %x: tensor<1x4x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x1xf32> {ark.name = "sum"}, tensor<1x4x1xf32> {ark.name = "max"}, tensor<1x1x1xf32> {ark.name = "mean"}) {
  // CHECK-NEXT: %[[SUM:.+]] = ark.reshape %[[X]] shape = [4, 1]
  // CHECK-NEXT: %[[MEAN:.+]] = ark.reduce_mean %[[X]] axes = [0, 1]
  // CHECK-NEXT: ark.return %[[SUM]], %[[X]], %[[MEAN]]
  %0 = ark.reduce_sum %x axes = [0] keepdims = false : (tensor<1x4x1xf32>) -> tensor<4x1xf32>
  %1 = ark.reduce_max %x axes = [0, 2] keepdims = true : (tensor<1x4x1xf32>) -> tensor<1x4x1xf32>
  %2 = ark.reduce_mean %x axes = [0, 1] keepdims = true : (tensor<1x4x1xf32>) -> tensor<1x1x1xf32>
  ark.return %0, %1, %2 : tensor<4x1xf32>, tensor<1x4x1xf32>, tensor<1x1x1xf32>
}
