// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-resolve-views))' --verify-diagnostics | FileCheck %s

// With the layout of the result of attention, the merge of heads is a view.
// CHECK-LABEL: ark.program @transposeThenReshape
// CHECK-NOT: "copy"
ark.program @transposeThenReshape(%x: tensor<2x12x64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<128x384xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<2x12x64x32xf32>
  %0 = ark.task "attention" grid [2] ins(%x[#ark.region<(d0) -> (d0, 0, 0, 0), [1, 12, 64, 32]>] : tensor<2x12x64x32xf32>)
      outs(%e[#ark.region<(d0) -> (d0, 0, 0, 0), [1, 12, 64, 32]>] : tensor<2x12x64x32xf32>) {
  ^bb0(%i: index, %a: tensor<1x12x64x32xf32>, %o: tensor<1x12x64x32xf32>):
    ark.yield %a : tensor<1x12x64x32xf32>
  } : tensor<2x12x64x32xf32>
  %1 = ark.transpose %0 perm = [0, 2, 1, 3] : (tensor<2x12x64x32xf32>) -> tensor<2x64x12x32xf32>
  %2 = ark.reshape %1 shape = [128, 384] : (tensor<2x64x12x32xf32>) -> tensor<128x384xf32>
  %e1 = tensor.empty() : tensor<128x384xf32>
  %3 = ark.task "project" grid [1] ins(%2[#ark.region<(d0) -> (0, 0), [128, 384]>] : tensor<128x384xf32>)
      outs(%e1[#ark.region<(d0) -> (0, 0), [128, 384]>] : tensor<128x384xf32>) {
  ^bb0(%i: index, %a: tensor<128x384xf32>, %o: tensor<128x384xf32>):
    ark.yield %a : tensor<128x384xf32>
  } : tensor<128x384xf32>
  ark.return %3 : tensor<128x384xf32>
}

// -----

// The split into heads is a view in every layout.
// CHECK-LABEL: ark.program @reshapeThenTranspose
// CHECK-NOT: "copy"
ark.program @reshapeThenTranspose(%x: tensor<128x384xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x12x64x32xf32> {ark.name = "y"}) {
  %1 = ark.reshape %x shape = [2, 64, 12, 32] : (tensor<128x384xf32>) -> tensor<2x64x12x32xf32>
  %2 = ark.transpose %1 perm = [0, 2, 1, 3] : (tensor<2x64x12x32xf32>) -> tensor<2x12x64x32xf32>
  %e = tensor.empty() : tensor<2x12x64x32xf32>
  %0 = ark.task "attention" grid [2] ins(%2[#ark.region<(d0) -> (d0, 0, 0, 0), [1, 12, 64, 32]>] : tensor<2x12x64x32xf32>)
      outs(%e[#ark.region<(d0) -> (d0, 0, 0, 0), [1, 12, 64, 32]>] : tensor<2x12x64x32xf32>) {
  ^bb0(%i: index, %a: tensor<1x12x64x32xf32>, %o: tensor<1x12x64x32xf32>):
    ark.yield %a : tensor<1x12x64x32xf32>
  } : tensor<2x12x64x32xf32>
  ark.return %0 : tensor<2x12x64x32xf32>
}

// -----

// The layout of an argument is fixed. Both views share one copy.
// CHECK-LABEL: ark.program @argumentThatNeedsACopy
// CHECK-SAME: (%[[X:.+]]: tensor<96x64xf32>
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @argumentThatNeedsACopy(%x: tensor<96x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<6144xf32> {ark.name = "y"}) {
  // CHECK: %[[T:.+]] = ark.transpose %[[X]]
  // CHECK: %[[E:.+]] = tensor.empty() : tensor<64x96xf32>
  // CHECK: %[[COPY:.+]] = ark.task "copy" grid [2]
  // CHECK-SAME: ins(%[[T]][{{.+}}] : tensor<64x96xf32>) outs(%[[E]][{{.+}}] : tensor<64x96xf32>)
  // CHECK-SAME: attributes {ops = ["copy"]}
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %[[A:.+]]: tensor<64x48xf32>, %[[O:.+]]: tensor<64x48xf32>):
  // CHECK-NEXT: %[[R:.+]] = linalg.copy ins(%[[A]] {{.+}}) outs(%[[O]]
  // CHECK-NEXT: ark.yield %[[R]]
  // CHECK-NOT: "copy
  // CHECK: ark.reshape %[[COPY]] shape = [6144]
  // CHECK: ark.reshape %[[COPY]] shape = [48, 128]
  %0 = ark.transpose %x perm = [1, 0] : (tensor<96x64xf32>) -> tensor<64x96xf32>
  // expected-remark @below {{strides cannot express this view of 'tensor<64x96xf32>': inserted a task that copies it}}
  %1 = ark.reshape %0 shape = [6144] : (tensor<64x96xf32>) -> tensor<6144xf32>
  %2 = ark.reshape %0 shape = [48, 128] : (tensor<64x96xf32>) -> tensor<48x128xf32>
  %e = tensor.empty() : tensor<6144xf32>
  %3 = ark.task "t" grid [1] ins(%1[#ark.region<(d0) -> (0), [6144]>] : tensor<6144xf32>,
                                 %2[#ark.region<(d0) -> (0, 0), [48, 128]>] : tensor<48x128xf32>)
      outs(%e[#ark.region<(d0) -> (0), [6144]>] : tensor<6144xf32>) {
  ^bb0(%i: index, %a: tensor<6144xf32>, %b: tensor<48x128xf32>, %o: tensor<6144xf32>):
    ark.yield %a : tensor<6144xf32>
  } : tensor<6144xf32>
  ark.return %3 : tensor<6144xf32>
}
}

// -----

// An extent without a good divisor makes a ragged copy with tiles of dynamic extent.
// CHECK-LABEL: ark.program @raggedCopy
// CHECK: ark.task "copy_1" grid [2]
// CHECK-SAME: #ark.region<(d0) -> (0, d0 * 8192), [1, 8192]>
// CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: tensor<1x?xi8>, %{{.+}}: tensor<1x?xi8>):
ark.program @raggedCopy(%x: tensor<1x8209xi8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x8209xi8> {ark.name = "y"}, tensor<4xi8> {ark.name = "z"}) {
  %e = tensor.empty() : tensor<4xi8>
  %0 = ark.task "copy" grid [1] ins() outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xi8>) {
  ^bb0(%i: index, %o: tensor<4xi8>):
    ark.yield %o : tensor<4xi8>
  } : tensor<4xi8>
  ark.return %x, %0 : tensor<1x8209xi8>, tensor<4xi8>
}

// -----

// A task writes straight into an output only if its result is neither another output nor a state.
// CHECK-LABEL: ark.program @resultsThatNeedACopy
// CHECK: %[[R:.+]] = ark.task "r"
// CHECK: %[[S:.+]] = ark.task "s"
// CHECK: %[[C0:.+]] = ark.task "copy" grid [1] ins(%[[R]][
// CHECK: %[[C1:.+]] = ark.task "copy_1" grid [1] ins(%[[S]][
// CHECK: %[[C2:.+]] = ark.task "copy_2" grid [1] ins(%{{.+}}[
// CHECK: ark.return %[[R]], %[[C0]], %[[C1]], %[[C2]]
ark.program @resultsThatNeedACopy(%s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<4xf32> {ark.name = "a"}, tensor<4xf32> {ark.name = "b"}, tensor<4xf32> {ark.name = "c"}, tensor<2x2xf32> {ark.name = "d"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "r" grid [1] ins() outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  %1 = ark.task "s" grid [1] ins() outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  %2 = ark.reshape %0 shape = [2, 2] : (tensor<4xf32>) -> tensor<2x2xf32>
  ark.return %0, %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>
}

// -----

// Buffers have no explicit dependences; the order of accesses replaces them.
// CHECK-LABEL: ark.program @identityAfter
// CHECK: %[[FIRST:.+]] = ark.task "first"
// CHECK: ark.task "second" grid [1] ins(%{{.+}}[#{{.+}}] : tensor<4xf32>, %[[FIRST]][#ark.region<(d0) -> (0, 0), [2, 8]>] : tensor<2x8xf32>)
// CHECK-NEXT: ^bb0(%{{.+}}: index, %[[A:.+]]: tensor<4xf32>, %{{.+}}: tensor<2x8xf32>, %{{.+}}: tensor<4xf32>):
// CHECK-NEXT: ark.yield %[[A]] :
ark.program @identityAfter(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x8xf32> {ark.name = "a"}, tensor<4xf32> {ark.name = "b"}) {
  %e = tensor.empty() : tensor<2x8xf32>
  %0 = ark.task "first" grid [2] ins() outs(%e[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>) {
  ^bb0(%i: index, %o: tensor<1x8xf32>):
    ark.yield %o : tensor<1x8xf32>
  } : tensor<2x8xf32>
  %1 = ark.transpose %0 perm = [1, 0] : (tensor<2x8xf32>) -> tensor<8x2xf32>
  %2 = ark.identity %x after %1 : (tensor<4xf32>, tensor<8x2xf32>) -> tensor<4xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %3 = ark.task "second" grid [1] ins(%2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0, %3 : tensor<2x8xf32>, tensor<4xf32>
}

// -----

// A vCTA may read only the elements that it updates.
// CHECK-LABEL: ark.program @readsTheSliceOfItsUpdate
// CHECK-SAME: (%[[S:.+]]: tensor<8xf32>
// CHECK: %[[S1:.+]] = ark.task "own" grid [2] ins(%[[S]][
// CHECK: %[[COPY:.+]] = ark.task "copy" grid [1] ins(%[[S1]][
// CHECK: ark.task "other" grid [2] ins(%[[COPY]][{{.+}}) outs(%[[S1]][
ark.program @readsTheSliceOfItsUpdate(%s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %0 = ark.task "own" grid [2] ins(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<8xf32>
  // expected-remark @below {{reads more of the tensor that it updates in place than each vCTA updates: inserted a task that copies it}}
  %1 = ark.task "other" grid [2] ins(%0[#ark.region<(d0) -> (d0 * -4 + 4), [4]>] : tensor<8xf32>)
      outs(%0[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<8xf32>
  ark.return
}

// -----

// The slice that each vCTA reads may be the slice that it updates, or disjoint from all updates.
// CHECK-LABEL: ark.program @readsTheSliceThatItUpdates
// CHECK-SAME: (%[[S:.+]]: tensor<12xf32>
// CHECK: %[[SAME:.+]] = ark.slice %[[S]] starts = [4]
// CHECK: %[[S1:.+]] = ark.task "own" grid [2] ins(%[[SAME]][
// CHECK: %[[BESIDE:.+]] = ark.slice %[[S1]] starts = [3]
// CHECK: %[[COPY:.+]] = ark.task "copy" {{.*}} ins(%[[BESIDE]][
// CHECK: ark.task "other" grid [2] ins(%[[COPY]][{{.+}}) outs(%[[S1]][
ark.program @readsTheSliceThatItUpdates(%s: tensor<12xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %same = ark.slice %s starts = [4] stops = [12] steps = [1] : (tensor<12xf32>) -> tensor<8xf32>
  %0 = ark.task "own" grid [2] ins(%same[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : tensor<12xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<12xf32>
  %beside = ark.slice %0 starts = [3] stops = [11] steps = [1] : (tensor<12xf32>) -> tensor<8xf32>
  // expected-remark @below {{reads more of the tensor that it updates in place than each vCTA updates: inserted a task that copies it}}
  %1 = ark.task "other" grid [2] ins(%beside[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%0[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : tensor<12xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<12xf32>
  ark.return
}

// -----

// CHECK-LABEL: ark.program @deadViews
// CHECK-NOT: ark.reshape
// CHECK: ark.return
ark.program @deadViews(%x: tensor<4x6xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  %0 = ark.transpose %x perm = [1, 0] : (tensor<4x6xf32>) -> tensor<6x4xf32>
  %1 = ark.reshape %0 shape = [24] : (tensor<6x4xf32>) -> tensor<24xf32>
  ark.return
}

// -----

// Contiguous bytes become elements of another size; rows may be strided.
// CHECK-LABEL: ark.program @bitcastsByStrides
// CHECK-NOT: "copy"
ark.program @bitcastsByStrides(%x: tensor<6x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
                               %b: tensor<4x32xi8> {ark.kind = #ark.kind<input>, ark.name = "b"})
    -> (tensor<3x8xf16> {ark.name = "y"}) {
  %0 = ark.slice %x starts = [0, 2] stops = [6, 6] steps = [2, 1] : (tensor<6x8xf32>) -> tensor<3x4xf32>
  %1 = ark.bitcast %0 to f16 : (tensor<3x4xf32>) -> tensor<3x8xf16>
  %2 = ark.slice %b starts = [1, 16] stops = [4, 32] steps = [1, 1] : (tensor<4x32xi8>) -> tensor<3x16xi8>
  %3 = ark.bitcast %2 to f16 : (tensor<3x16xi8>) -> tensor<3x8xf16>
  %e = tensor.empty() : tensor<3x8xf16>
  %4 = ark.task "t" grid [1] ins(%1[#ark.region<(d0) -> (0, 0), [3, 8]>] : tensor<3x8xf16>,
                                 %3[#ark.region<(d0) -> (0, 0), [3, 8]>] : tensor<3x8xf16>)
      outs(%e[#ark.region<(d0) -> (0, 0), [3, 8]>] : tensor<3x8xf16>) {
  ^bb0(%i: index, %a: tensor<3x8xf16>, %c: tensor<3x8xf16>, %o: tensor<3x8xf16>):
    ark.yield %a : tensor<3x8xf16>
  } : tensor<3x8xf16>
  ark.return %4 : tensor<3x8xf16>
}

// -----

// These bitcasts need copies: bytes of one element that are apart, and offsets or row
// strides that are no multiples of the element size.
// CHECK-LABEL: ark.program @bitcastsThatNeedCopies
// CHECK-COUNT-3: ark.task "copy
ark.program @bitcastsThatNeedCopies(%x: tensor<8x6xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
                                    %b: tensor<4x33xi8> {ark.kind = #ark.kind<input>, ark.name = "b"})
    -> (tensor<6x16xf16> {ark.name = "y"}) {
  %0 = ark.transpose %x perm = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  // expected-remark @below {{strides cannot express this view of 'tensor<6x8xf32>'}}
  %1 = ark.bitcast %0 to f16 : (tensor<6x8xf32>) -> tensor<6x16xf16>
  %2 = ark.slice %b starts = [0, 1] stops = [1, 33] steps = [1, 1] : (tensor<4x33xi8>) -> tensor<1x32xi8>
  // expected-remark @below {{strides cannot express this view of 'tensor<1x32xi8>'}}
  %3 = ark.bitcast %2 to f16 : (tensor<1x32xi8>) -> tensor<1x16xf16>
  %4 = ark.slice %b starts = [0, 0] stops = [4, 32] steps = [1, 1] : (tensor<4x33xi8>) -> tensor<4x32xi8>
  // expected-remark @below {{strides cannot express this view of 'tensor<4x32xi8>'}}
  %5 = ark.bitcast %4 to f16 : (tensor<4x32xi8>) -> tensor<4x16xf16>
  %e = tensor.empty() : tensor<6x16xf16>
  %6 = ark.task "t" grid [1] ins(%1[#ark.region<(d0) -> (0, 0), [6, 16]>] : tensor<6x16xf16>,
                                 %3[#ark.region<(d0) -> (0, 0), [1, 16]>] : tensor<1x16xf16>,
                                 %5[#ark.region<(d0) -> (0, 0), [4, 16]>] : tensor<4x16xf16>)
      outs(%e[#ark.region<(d0) -> (0, 0), [6, 16]>] : tensor<6x16xf16>) {
  ^bb0(%i: index, %a: tensor<6x16xf16>, %c: tensor<1x16xf16>, %d: tensor<4x16xf16>, %o: tensor<6x16xf16>):
    ark.yield %a : tensor<6x16xf16>
  } : tensor<6x16xf16>
  ark.return %6 : tensor<6x16xf16>
}
