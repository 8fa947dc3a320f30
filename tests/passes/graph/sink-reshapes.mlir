// RUN: ark-opt %s --ark-normalize-graph --split-input-file | FileCheck %s

// The cast joins the ops before the reshape, which writes half of the bytes.
// CHECK-LABEL: ark.program @castBehindReshape
ark.program @castBehindReshape(
    %x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x2x64xbf16> {ark.name = "y"}) {
  // CHECK: %[[EXP:.+]] = ark.exp %arg0
  // CHECK-NEXT: %[[CAST:.+]] = ark.cast %[[EXP]] to bf16 : (tensor<4x64xf32>) -> tensor<4x64xbf16>
  // CHECK-NEXT: %[[VIEW:.+]] = ark.reshape %[[CAST]] shape = [2, 2, 64]
  // CHECK-NEXT: ark.return %[[VIEW]]
  %0 = ark.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ark.reshape %0 shape = [2, 2, 64] : (tensor<4x64xf32>) -> tensor<2x2x64xf32>
  %2 = ark.cast %1 to bf16 : (tensor<2x2x64xf32>) -> tensor<2x2x64xbf16>
  ark.return %2 : tensor<2x2x64xbf16>
}

// -----

// Both ops join the epilogue of the product.
// CHECK-LABEL: ark.program @chainBehindReshape
ark.program @chainBehindReshape(
    %x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2x2x32xbf16> {ark.name = "y"}) {
  // CHECK: ark.matmul
  // CHECK-NEXT: ark.silu {{.*}} tensor<4x32xf32>
  // CHECK-NEXT: ark.cast {{.*}} tensor<4x32xbf16>
  // CHECK-NEXT: ark.reshape {{.*}} shape = [2, 2, 32]
  %0 = ark.matmul %x, %w : (tensor<4x64xf32>, tensor<64x32xf32>) -> tensor<4x32xf32>
  %1 = ark.reshape %0 shape = [2, 2, 32] : (tensor<4x32xf32>) -> tensor<2x2x32xf32>
  %2 = ark.silu %1 : (tensor<2x2x32xf32>) -> tensor<2x2x32xf32>
  %3 = ark.cast %2 to bf16 : (tensor<2x2x32xf32>) -> tensor<2x2x32xbf16>
  ark.return %3 : tensor<2x2x32xbf16>
}

// -----

// The elements would become wider.
// CHECK-LABEL: ark.program @wideningStays
ark.program @wideningStays(
    %x: tensor<4x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x2x64xf32> {ark.name = "y"}) {
  // CHECK: ark.exp
  // CHECK-NEXT: ark.reshape
  // CHECK-NEXT: ark.cast
  %0 = ark.exp %x : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  %1 = ark.reshape %0 shape = [2, 2, 64] : (tensor<4x64xbf16>) -> tensor<2x2x64xbf16>
  %2 = ark.cast %1 to f32 : (tensor<2x2x64xbf16>) -> tensor<2x2x64xf32>
  ark.return %2 : tensor<2x2x64xf32>
}

// -----

// The op before the reshape has another reader, or takes no epilogue, or does not exist.
// CHECK-LABEL: ark.program @nothingToJoin
ark.program @nothingToJoin(
    %x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "y"})
    -> (tensor<4x64xf32> {ark.name = "a"}, tensor<2x2x64xf32> {ark.name = "b"},
        tensor<2x2x64xf32> {ark.name = "c"}) {
  // CHECK: ark.exp
  // CHECK-NEXT: ark.reshape
  // CHECK-NEXT: ark.tanh
  // CHECK-NEXT: ark.reshape %arg1
  // CHECK-NEXT: ark.tanh
  %0 = ark.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ark.reshape %0 shape = [2, 2, 64] : (tensor<4x64xf32>) -> tensor<2x2x64xf32>
  %2 = ark.tanh %1 : (tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
  %3 = ark.reshape %y shape = [2, 2, 64] : (tensor<4x64xf32>) -> tensor<2x2x64xf32>
  %4 = ark.tanh %3 : (tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
  ark.return %0, %2, %4 : tensor<4x64xf32>, tensor<2x2x64xf32>, tensor<2x2x64xf32>
}

// -----

// Two ops read the reshape; a copy and an op with a plan keep their shape.
// CHECK-LABEL: ark.program @reshapesThatStay
ark.program @reshapesThatStay(
    %x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x2x64xf32> {ark.name = "a"}, tensor<2x2x64xf32> {ark.name = "b"},
        tensor<2x2x64xf32> {ark.name = "c"}, tensor<2x2x64xf32> {ark.name = "d"}) {
  // CHECK: ark.exp
  // CHECK-NEXT: ark.reshape
  // CHECK-NEXT: ark.tanh
  // CHECK-NEXT: ark.abs
  // CHECK: ark.reshape
  // CHECK-NEXT: ark.copy
  // CHECK: ark.reshape
  // CHECK-NEXT: ark.tanh
  %0 = ark.exp %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %1 = ark.reshape %0 shape = [2, 2, 64] : (tensor<4x64xf32>) -> tensor<2x2x64xf32>
  %2 = ark.tanh %1 : (tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
  %3 = ark.abs %1 : (tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
  %4 = ark.neg %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %5 = ark.reshape %4 shape = [2, 2, 64] : (tensor<4x64xf32>) -> tensor<2x2x64xf32>
  %6 = ark.copy %5 : (tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
  %7 = ark.sin %x : (tensor<4x64xf32>) -> tensor<4x64xf32>
  %8 = ark.reshape %7 shape = [2, 2, 64] : (tensor<4x64xf32>) -> tensor<2x2x64xf32>
  %9 = ark.tanh %8 {ark.plan = {tile = [1, 2, 64]}} : (tensor<2x2x64xf32>) -> tensor<2x2x64xf32>
  ark.return %2, %3, %6, %9
      : tensor<2x2x64xf32>, tensor<2x2x64xf32>, tensor<2x2x64xf32>, tensor<2x2x64xf32>
}
