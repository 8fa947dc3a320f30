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

// The producer of a value that is also a result keeps a group of its own.
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

// -----

// CHECK-LABEL: ark.program @resultWithTwoReadersIsNoEpilogue
ark.program @resultWithTwoReadersIsNoEpilogue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}, tensor<4x8xf32> {ark.name = "z"}) {
  // CHECK: ark.group "matmul"
  // CHECK-NEXT: ark.matmul
  // CHECK-NEXT: ark.yield
  // CHECK: ark.group "exp"
  // CHECK: ark.group "tanh"
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ark.tanh %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %1, %2 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// An op that reads a value twice is a single reader.
// CHECK-LABEL: ark.program @readerOfBothSidesIsAnEpilogue
ark.program @readerOfBothSidesIsAnEpilogue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "matmul"
  // CHECK-NEXT: %[[MM:.+]] = ark.matmul
  // CHECK-NEXT: ark.mul %[[MM]], %[[MM]]
  // CHECK-NOT: ark.group
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.mul %0, %0 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %1 : tensor<4x8xf32>
}

// -----

// The tiles of the matmul do not match the tiles of the larger sum.
// CHECK-LABEL: ark.program @broadcastingReaderIsNoEpilogue
ark.program @broadcastingReaderIsNoEpilogue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %b: tensor<3x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "b"})
    -> (tensor<3x4x8xf32> {ark.name = "y"}) {
  // CHECK: %[[MM:.+]] = ark.group "matmul"
  // CHECK: ark.group "add" (%{{.+}} = %[[MM]],
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.add %0, %b : (tensor<4x8xf32>, tensor<3x4x8xf32>) -> tensor<3x4x8xf32>
  ark.return %1 : tensor<3x4x8xf32>
}

// -----

// Each tile of columns would recompute all rows of the left operand.
// CHECK-LABEL: ark.program @matmulTakesNoPrologue
ark.program @matmulTakesNoPrologue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "matmul"
  %0 = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ark.matmul %0, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  ark.return %1 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: ark.program @normTakesAPrologueOfItsOperandOnly
// CHECK-SAME: (%[[X:.+]]: tensor<4x8xf32> {{.*}}, %[[G:.+]]: tensor<8xf32> {{.*}})
ark.program @normTakesAPrologueOfItsOperandOnly(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "g"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: %[[W:.+]] = ark.group "sin" (%{{.+}} = %[[G]])
  // CHECK: ark.group "rmsnorm" (%[[A:.+]] = %[[X]], %[[B:.+]] = %[[W]])
  // CHECK-NEXT: %[[E:.+]] = ark.exp %[[A]]
  // CHECK-NEXT: %[[N:.+]] = ark.rmsnorm %[[E]] weight %[[B]]
  // CHECK-NEXT: ark.tanh %[[N]]
  %0 = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %w = ark.sin %g : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ark.rmsnorm %0 weight %w eps = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = ark.tanh %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %2 : tensor<4x8xf32>
}

// -----

// An op between two anchors joins the producer of its operand.
// CHECK-LABEL: ark.program @epiloguesComeBeforePrologues
ark.program @epiloguesComeBeforePrologues(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "matmul"
  // CHECK: ark.exp
  // CHECK: ark.group "softmax"
  // CHECK-NEXT: ark.softmax
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ark.softmax %1 axis = 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %2 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: ark.program @elementwiseTreeIsOneGroup
ark.program @elementwiseTreeIsOneGroup(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %b: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "b"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // A broadcast vector would be recomputed for every row.
  // CHECK: ark.group "sin"
  // CHECK-NEXT: ark.sin
  // CHECK-NEXT: ark.yield
  // CHECK: ark.group "add"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.mul
  // CHECK-NEXT: ark.add
  // CHECK-NEXT: ark.yield
  %0 = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ark.sin %b : (tensor<8xf32>) -> tensor<8xf32>
  %2 = ark.mul %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ark.add %2, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  ark.return %3 : tensor<4x8xf32>
}

// -----

// Both readers of the value are in the group.
// CHECK-LABEL: ark.program @valueReadTwiceInsideIsComputedOnce
ark.program @valueReadTwiceInsideIsComputedOnce(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "add"
  // CHECK-NEXT: %[[E:.+]] = ark.exp
  // CHECK-NEXT: ark.tanh %[[E]]
  // CHECK-NOT: ark.group
  %0 = ark.exp %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = ark.tanh %0 : (tensor<8xf32>) -> tensor<8xf32>
  %2 = ark.add %1, %0 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  ark.return %2 : tensor<8xf32>
}

// -----

// CHECK-LABEL: ark.program @splatsAreClonedAndTablesAreOperands
ark.program @splatsAreClonedAndTablesAreOperands(
    %x: tensor<2x2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x2xf32> {ark.name = "y"}, tensor<2x2xf32> {ark.name = "z"}) {
  // CHECK-NEXT: %[[TABLE:.+]] = ark.constant dense<[
  // CHECK-NEXT: ark.group "mul"
  // CHECK-NEXT: ark.constant dense<3.000000e+00>
  // CHECK: ark.group "softmax" (%{{.+}} = %{{.+}}, %[[T:.+]] = %[[TABLE]])
  // CHECK-NEXT: %[[C:.+]] = ark.constant dense<3.000000e+00>
  // CHECK: ark.add %{{.+}}, %[[C]]
  // CHECK: ark.add %{{.+}}, %[[T]]
  %c = ark.constant dense<3.0> : tensor<2x2xf32>
  %t = ark.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = ark.mul %x, %c : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %1 = ark.add %x, %c : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
  %2 = ark.softmax %1 axis = 0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  %3 = ark.add %2, %t : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xf32>
  ark.return %0, %3 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// CHECK-LABEL: ark.program @viewsSeparateGroups
ark.program @viewsSeparateGroups(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x4xf32> {ark.name = "y"}) {
  // CHECK: %[[E:.+]] = ark.group "exp"
  // CHECK: %[[T:.+]] = ark.transpose %[[E]]
  // CHECK: ark.group "tanh" (%{{.+}} = %[[T]])
  %0 = ark.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ark.transpose %0 perm = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = ark.tanh %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  ark.return %2 : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: ark.program @concatTakesNoPrologue
ark.program @concatTakesNoPrologue(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "concat"
  // CHECK-NEXT: ark.concat
  // CHECK-NEXT: ark.yield
  // CHECK: ark.group "tanh"
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.concat %0, %x axis = 0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  %2 = ark.tanh %1 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %2 : tensor<8xf32>
}

// -----

// The result of an update is the state, which no other op may write.
// CHECK-LABEL: ark.program @updateTakesNoEpilogue
ark.program @updateTakesNoEpilogue(
    %x: tensor<2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: %[[NEW:.+]] = ark.group "update"
  // CHECK-NEXT: ark.update
  // CHECK-NEXT: ark.yield
  // CHECK: ark.group "tanh" (%{{.+}} = %[[NEW]])
  %0 = ark.update %x into %s [1] : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
  %1 = ark.tanh %0 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %1 : tensor<4xf32>
}

// -----

// If the read joined the group of its reader, it would run after the update.
// CHECK-LABEL: ark.program @readOfAStateStaysBeforeItsUpdate
ark.program @readOfAStateStaysBeforeItsUpdate(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "update"
  // CHECK: ark.group "add"
  // CHECK-NEXT: ark.add
  %0 = ark.exp %s : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.update %x into %s [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.add %0, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  ark.return %2 : tensor<4xf32>
}

// -----

// Every vCTA reads exactly the elements that it writes.
// CHECK-LABEL: ark.program @prologueOfAnUpdateReadsTheSliceThatItWrites
ark.program @prologueOfAnUpdateReadsTheSliceThatItWrites(
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: ark.group "update" (%[[S:.+]] = %{{.+}}, %[[X:.+]] = %{{.+}})
  // CHECK-NEXT: %[[E:.+]] = ark.exp %[[S]]
  // CHECK-NEXT: %[[A:.+]] = ark.add %[[E]], %[[X]]
  // CHECK-NEXT: ark.update %[[A]] into %[[S]]
  %0 = ark.exp %s : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.update %1 into %s [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %3 : tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @updateReadsTheSliceThatItWrites
ark.program @updateReadsTheSliceThatItWrites(
    %s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: %[[SLICE:.+]] = ark.slice
  // CHECK-NEXT: ark.group "update" (%{{.+}} = %[[SLICE]],
  // CHECK-NEXT: ark.add
  // CHECK-NEXT: ark.update
  %0 = ark.slice %s starts = [2] stops = [6] steps = [1] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = ark.add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.update %1 into %s [2] : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  %3 = ark.exp %2 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %3 : tensor<8xf32>
}

// -----

// A vCTA would read elements that another vCTA writes.
// CHECK-LABEL: ark.program @updateReadsNoOtherSlice
ark.program @updateReadsNoOtherSlice(
    %s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "add"
  // CHECK-NEXT: ark.add
  // CHECK: ark.group "update"
  // CHECK-NEXT: ark.update
  %0 = ark.slice %s starts = [1] stops = [5] steps = [1] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = ark.add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.update %1 into %s [2] : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  %3 = ark.exp %2 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %3 : tensor<8xf32>
}

// -----

// CHECK-LABEL: ark.program @updateReadsNoSliceWithSteps
ark.program @updateReadsNoSliceWithSteps(
    %s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "add"
  // CHECK: ark.group "update"
  // CHECK-NEXT: ark.update
  %0 = ark.slice %s starts = [0] stops = [8] steps = [2] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = ark.add %0, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.update %1 into %s [0] : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  %3 = ark.exp %2 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %3 : tensor<8xf32>
}

// -----

// CHECK-LABEL: ark.program @updateReadsNoTranspose
ark.program @updateReadsNoTranspose(
    %s: tensor<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4x4xf32> {ark.name = "y"}) {
  // CHECK: ark.group "add"
  // CHECK: ark.group "update"
  // CHECK-NEXT: ark.update
  %0 = ark.transpose %s perm = [1, 0] : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = ark.add %0, %s : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = ark.update %1 into %s [0, 0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ark.exp %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  ark.return %3 : tensor<4x4xf32>
}

// -----

// All rows read one row of the state.
// CHECK-LABEL: ark.program @updateReadsNoBroadcast
ark.program @updateReadsNoBroadcast(
    %s: tensor<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4x4xf32> {ark.name = "y"}) {
  // CHECK: ark.group "add"
  // CHECK: ark.group "update"
  // CHECK-NEXT: ark.update
  %0 = ark.slice %s starts = [0, 0] stops = [1, 4] steps = [1, 1] : (tensor<4x4xf32>) -> tensor<1x4xf32>
  %1 = ark.add %0, %s : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = ark.update %1 into %s [0, 0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = ark.exp %2 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  ark.return %3 : tensor<4x4xf32>
}

// -----

// The offset of the write is known at run time only.
// CHECK-LABEL: ark.program @updateAtAnOffsetReadsNothingOfItsState
ark.program @updateAtAnOffsetReadsNothingOfItsState(
    %s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "update"
  // CHECK-NEXT: ark.update
  %0 = ark.slice %s starts = [0] stops = [4] steps = [1] : (tensor<8xf32>) -> tensor<4xf32>
  %1 = ark.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.update %1 into %s [%p] : (tensor<8xf32>, tensor<4xf32>, tensor<i32>) -> tensor<8xf32>
  %3 = ark.tanh %2 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %3 : tensor<8xf32>
}

// -----

// A prologue that reads no state always joins.
// CHECK-LABEL: ark.program @updateTakesAPrologue
ark.program @updateTakesAPrologue(
    %s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "update"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.update
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.update %0 into %s [%p] : (tensor<8xf32>, tensor<4xf32>, tensor<i32>) -> tensor<8xf32>
  %2 = ark.tanh %1 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %2 : tensor<8xf32>
}

// -----

// The read of another state stays before the update of that state.
// CHECK-LABEL: ark.program @prologueStaysBeforeTheUpdateOfAnotherState
ark.program @prologueStaysBeforeTheUpdateOfAnotherState(
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %t: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "t"},
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: ark.group "exp"
  // CHECK: ark.group "update"
  // CHECK-NEXT: ark.update
  // CHECK: ark.group "update_2"
  // CHECK-NEXT: ark.update
  %0 = ark.exp %t : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.update %x into %t [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.update %0 into %s [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = ark.tanh %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %3 : tensor<4xf32>
}

// -----

// A group that depends on the first update and stands behind the second one depends on
// the second: the version of the state after the first update no longer exists.
// CHECK-LABEL: ark.program @dependenceOnAStateIncludesItsLastUpdate
ark.program @dependenceOnAStateIncludesItsLastUpdate(
    %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  // CHECK: %[[FIRST:.+]] = ark.group "update"
  // CHECK: ark.group "exp" (%{{.+}} = %{{.+}}, %{{.+}} = %[[FIRST]])
  // CHECK: %[[SECOND:.+]] = ark.group "update_2"
  // CHECK: ark.group "tanh" (%{{.+}} = %{{.+}}, %{{.+}} = %[[SECOND]])
  %0 = ark.update %x into %s [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.identity %x after %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = ark.update %x into %0 [0] : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = ark.tanh %1 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %2, %4 : tensor<4xf32>, tensor<4xf32>
}

// -----

// The reader inherits the dependences of its operand's producer.
// CHECK-LABEL: ark.program @dependencesBecomeOperandsThatNothingReads
// CHECK-SAME: (%[[X:.+]]: tensor<4xf32>
ark.program @dependencesBecomeOperandsThatNothingReads(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x2xf32> {ark.name = "y"}, tensor<4xf32> {ark.name = "z"}) {
  // CHECK: %[[FIRST:.+]] = ark.group "exp"
  // CHECK-NOT: ark.identity
  // CHECK: %[[VIEW:.+]] = ark.reshape %[[X]]
  // CHECK: ark.group "tanh" (%[[A:.+]] = %[[VIEW]], %{{.+}} = %[[FIRST]])
  // CHECK-NEXT: ark.tanh %[[A]]
  // CHECK-NEXT: ark.yield
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.identity %x after %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.reshape %1 shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  %3 = ark.tanh %2 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  ark.return %3, %0 : tensor<2x2xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @namesAreMadeUnique
ark.program @namesAreMadeUnique(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "a"}, tensor<4xf32> {ark.name = "b"}, tensor<4xf32> {ark.name = "c"}) {
  // CHECK: ark.group "act_2"
  // CHECK: ark.group "act"
  // CHECK: ark.group "act_3"
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32> loc("act_2")
  %1 = ark.sin %x : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  %2 = ark.cos %x : (tensor<4xf32>) -> tensor<4xf32> loc("act")
  ark.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @opsWithDifferentPlansAreDifferentGroups
ark.program @opsWithDifferentPlansAreDifferentGroups(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "matmul" {{.*}} attributes {plan = {warps = 4 : i64}}
  // CHECK-NOT: ark.plan
  // CHECK: ark.exp
  // CHECK: ark.group "tanh" {{.*}} attributes {plan = {warps = 2 : i64}}
  %0 = ark.matmul %x, %w {ark.plan = {warps = 4 : i64}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ark.tanh %1 {ark.plan = {warps = 2 : i64}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %2 : tensor<4x8xf32>
}

// -----

// An op that reads two tasks with different plans joins neither, since one task would wait for the
// other. It joins if both have the same plan, or if the task depends on the other operand anyway.
// CHECK-LABEL: ark.program @readersOfTwoPlansStandAlone
ark.program @readersOfTwoPlansStandAlone(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}, tensor<4x8xf32> {ark.name = "z"}) {
  // CHECK: ark.group "softmax" {{.*}} attributes {plan = {warps = [0, 4]}}
  // CHECK-NOT: ark.add
  // CHECK: ark.group "softmax_2" {{.*}} attributes {plan = {warps = [4, 8]}}
  // CHECK: ark.group "add"
  // CHECK-NOT: plan
  %0 = ark.softmax %x axis = 1 {ark.plan = {warps = [0, 4]}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = ark.softmax %x axis = 1 {ark.plan = {warps = [4, 8]}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ark.exp %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ark.reshape %2 shape = [4, 8] : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = ark.add %0, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  // CHECK: ark.group "softmax_3" {{.*}} attributes {plan = {warps = [0, 4]}}
  // CHECK-NEXT: ark.softmax
  // CHECK-NEXT: ark.add
  %5 = ark.softmax %4 axis = 1 {ark.plan = {warps = [0, 4]}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = ark.add %5, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %4, %6 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A sum over microbatches is the epilogue of the last product if both belong to one microbatch. A sum without
// microbatch is a group of its own, which delays neither product.
// CHECK-LABEL: ark.program @sumsOverMicrobatches
ark.program @sumsOverMicrobatches(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}, tensor<4x8xf32> {ark.name = "z"}) {
  // CHECK: ark.group "matmul" {{.*}} attributes {plan = {microbatch = 0 : i64}}
  // CHECK: ark.group "matmul_2" {{.*}} attributes {plan = {microbatch = 1 : i64}}
  // CHECK-NEXT: ark.matmul
  // CHECK-NEXT: ark.add
  // CHECK: ark.group "matmul_3" {{.*}} attributes {plan = {microbatch = 2 : i64}}
  // CHECK-NEXT: ark.matmul
  // CHECK-NEXT: ark.yield
  // CHECK: ark.group "add"
  // CHECK-NOT: plan
  %0 = ark.matmul %x, %w {ark.plan = {microbatch = 0 : i64}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.matmul %x, %w {ark.plan = {microbatch = 1 : i64}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %2 = ark.add %0, %1 {ark.plan = {microbatch = 1 : i64}} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = ark.matmul %x, %w {ark.plan = {microbatch = 2 : i64}} : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %4 = ark.add %2, %3 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %2, %4 : tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// The plan of an epilogue does not pin the matmul before it.
// CHECK-LABEL: ark.program @planOfAnEpilogueDoesNotPinItsAnchor
ark.program @planOfAnEpilogueDoesNotPinItsAnchor(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "matmul"
  // CHECK-NOT: plan
  // CHECK: ark.group "tanh" {{.*}} attributes {plan = {warps = 2 : i64}}
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.tanh %0 {ark.plan = {warps = 2 : i64}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %1 : tensor<4x8xf32>
}

// -----

// A dead reader does not prevent fusion.
// CHECK-LABEL: ark.program @deadOpsDisappear
ark.program @deadOpsDisappear(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK-NOT: ark.sin
  // CHECK: ark.matmul
  // CHECK-NEXT: ark.exp
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.sin %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = ark.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  ark.return %2 : tensor<4x8xf32>
}

// -----

// An op that `ark.noop` keeps has a group of its own, although its only reader could absorb it.
// CHECK-LABEL: ark.program @noopKeepsAGroup
// CHECK: %[[EXP:.+]] = ark.group "exp"
// CHECK: ark.noop %[[EXP]]
// CHECK: ark.group "neg"
// CHECK: %[[DEAD:.+]] = ark.group "relu"
// CHECK: ark.noop %[[DEAD]]
// CHECK-NOT: ark.abs
ark.program @noopKeepsAGroup(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.noop %0 : tensor<4xf32>
  %1 = ark.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = ark.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.noop %2 : tensor<4xf32>
  %3 = ark.abs %x : (tensor<4xf32>) -> tensor<4xf32>
  ark.return %1 : tensor<4xf32>
}

// -----

// The epilogue of a product reads results of elementwise ops that nothing else
// reads: a cast may be broadcast, an exponential must have the product's shape.
// CHECK-LABEL: ark.program @operandsOfAnEpilogue
ark.program @operandsOfAnEpilogue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %bias: tensor<8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "bias"},
    %gain: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "gain"},
    %scale: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "scale"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: %[[EXP:.+]] = ark.group "exp"
  // CHECK-NEXT: ark.exp
  // CHECK-NEXT: ark.yield
  // CHECK: ark.group "matmul"
  // CHECK-NEXT: ark.matmul
  // CHECK-NEXT: ark.cast {{.*}} to f32 : (tensor<8xbf16>) -> tensor<8xf32>
  // CHECK-NEXT: ark.add
  // CHECK-NEXT: ark.cast {{.*}} to f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  // CHECK-NEXT: ark.tanh
  // CHECK-NEXT: ark.mul
  // CHECK-NEXT: ark.mul
  // CHECK-NEXT: ark.yield
  // CHECK-NOT: ark.group
  %0 = ark.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = ark.cast %bias to f32 : (tensor<8xbf16>) -> tensor<8xf32>
  %2 = ark.add %0, %1 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %3 = ark.cast %scale to f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  %4 = ark.tanh %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = ark.mul %2, %4 : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = ark.exp %gain : (tensor<8xf32>) -> tensor<8xf32>
  %7 = ark.mul %5, %6 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  ark.return %7 : tensor<4x8xf32>
}
