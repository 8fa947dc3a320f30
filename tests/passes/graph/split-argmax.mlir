// RUN: ark-opt %s --ark-split-argmax --split-input-file | FileCheck %s
// RUN: ark-opt %s --ark-split-argmax=partitions=3 --split-input-file | FileCheck %s --check-prefix=THREE

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
// CHECK-LABEL: ark.program @nextTokenOfALargeVocabulary
// CHECK-SAME: (%[[X:.+]]: tensor<1x128256xf32> {{.*}})
ark.program @nextTokenOfALargeVocabulary(
    %x: tensor<1x128256xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1xi32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[CUT:.+]] = ark.reshape %[[X]] shape = [1, 64, 2004]
  // CHECK-NEXT: %[[PARTS:.+]] = ark.partial_argmax %[[CUT]] axis = 2 : (tensor<1x64x2004xf32>) -> tensor<1x64xi64>
  // CHECK-NEXT: %[[Y:.+]] = ark.combine_argmax %[[PARTS]] axis = 1 : (tensor<1x64xi64>) -> tensor<1xi32>
  // CHECK-NEXT: ark.return %[[Y]]
  // THREE: ark.partial_argmax {{.*}} (tensor<1x3x42752xf32>)
  %0 = ark.argmax %x axis = 1 : (tensor<1x128256xf32>) -> tensor<1xi32>
  ark.return %0 : tensor<1xi32>
}

// The number of partitions over all rows is the number of SMs less four. The
// dimension of the partitions replaces the reduced dimension.
// CHECK-LABEL: ark.program @severalRows
ark.program @severalRows(
    %x: tensor<8x128256xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %first: tensor<65536x2xi32> {ark.kind = #ark.kind<input>, ark.name = "first"})
    -> (tensor<8xi32> {ark.name = "y0"}, tensor<2xi32> {ark.name = "y1"}) {
  // CHECK: ark.partial_argmax %{{.+}} axis = 2 : (tensor<8x16x8016xbf16>) -> tensor<8x16xi64>
  %0 = ark.argmax %x axis = 1 : (tensor<8x128256xbf16>) -> tensor<8xi32>
  // CHECK: ark.reshape %{{.+}} shape = [32, 2048, 2]
  // CHECK: ark.partial_argmax %{{.+}} axis = 1 : (tensor<32x2048x2xi32>) -> tensor<32x2xi64>
  // CHECK: ark.combine_argmax %{{.+}} axis = 0 : (tensor<32x2xi64>) -> tensor<2xi32>
  %1 = ark.argmax %first axis = 0 : (tensor<65536x2xi32>) -> tensor<2xi32>
  ark.return %0, %1 : tensor<8xi32>, tensor<2xi32>
}

// The pass does not split a dimension of prime extent, a short dimension, an argmax with a row for every SM,
// elements of two words, an argmax without rows, and an argmax whose tile the user has set.
// CHECK-LABEL: ark.program @notSplit
// CHECK-NOT: ark.partial_argmax
// CHECK: ark.return
// THREE-LABEL: ark.program @notSplit
// THREE: ark.argmax {{.*}} (tensor<1x65537xf32>)
// THREE: ark.argmax {{.*}} (tensor<1x512xf32>)
// THREE: ark.argmax {{.*}} (tensor<128x65536xf32>)
// THREE: ark.argmax {{.*}} (tensor<1x196608xi64>)
// THREE: ark.argmax {{.*}} (tensor<0x196608xf32>)
// THREE: ark.argmax {{.*}} (tensor<2x196608xf32>)
ark.program @notSplit(
    %prime: tensor<1x65537xf32> {ark.kind = #ark.kind<input>, ark.name = "prime"},
    %short: tensor<1x512xf32> {ark.kind = #ark.kind<input>, ark.name = "short"},
    %rows: tensor<128x65536xf32> {ark.kind = #ark.kind<input>, ark.name = "rows"},
    %wide: tensor<1x196608xi64> {ark.kind = #ark.kind<input>, ark.name = "wide"},
    %none: tensor<0x196608xf32> {ark.kind = #ark.kind<input>, ark.name = "none"},
    %planned: tensor<2x196608xf32> {ark.kind = #ark.kind<input>, ark.name = "planned"})
    -> (tensor<1xi32> {ark.name = "y0"}, tensor<1xi32> {ark.name = "y1"},
        tensor<128xi32> {ark.name = "y2"}, tensor<1xi32> {ark.name = "y3"},
        tensor<0xi32> {ark.name = "y4"}, tensor<2xi32> {ark.name = "y5"}) {
  %0 = ark.argmax %prime axis = 1 : (tensor<1x65537xf32>) -> tensor<1xi32>
  %1 = ark.argmax %short axis = 1 : (tensor<1x512xf32>) -> tensor<1xi32>
  %2 = ark.argmax %rows axis = 1 : (tensor<128x65536xf32>) -> tensor<128xi32>
  %3 = ark.argmax %wide axis = 1 : (tensor<1x196608xi64>) -> tensor<1xi32>
  %4 = ark.argmax %none axis = 1 : (tensor<0x196608xf32>) -> tensor<0xi32>
  %5 = ark.argmax %planned axis = 1 {ark.plan = {tile = [1]}} : (tensor<2x196608xf32>) -> tensor<2xi32>
  ark.return %0, %1, %2, %3, %4, %5 : tensor<1xi32>, tensor<1xi32>, tensor<128xi32>, tensor<1xi32>, tensor<0xi32>, tensor<2xi32>
}
}

// -----

// Without a target the pass has no costs.
// CHECK-LABEL: ark.program @noTarget
// CHECK: ark.argmax
// THREE-LABEL: ark.program @noTarget
// THREE: ark.partial_argmax
ark.program @noTarget(
    %x: tensor<1x196608xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1xi32> {ark.name = "y"}) {
  %0 = ark.argmax %x axis = 1 : (tensor<1x196608xf32>) -> tensor<1xi32>
  ark.return %0 : tensor<1xi32>
}
