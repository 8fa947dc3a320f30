// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)' | FileCheck %s

// One loop reads the chunks of both products, which follow each other in the ring: a warp opens and closes its ring once.
// A vCTA has 4 rows of the first product and 2 rows of the second. The results of a work item have one temporary, in
// which those of the second product are behind those of the first.
// CHECK-LABEL: func.func private @body_matmul_matmul(
// CHECK-SAME: %[[BEGIN:[^:]+]]: index, %[[END:[^:]+]]: index
// CHECK: call @ark_stream_begin_work_item(%c2_i32)
// CHECK: %[[SUMS:.+]] = memref.alloca() {{.*}} : memref<1x6xf32>
// CHECK: %[[VCTAS:.+]] = arith.subi %[[END]], %[[BEGIN]]
// CHECK: %[[BEFORE:.+]] = arith.muli %[[VCTAS]], %c4
// CHECK: call @body_matmul_matmul_stream(%[[BEGIN]], %[[END]], %{{.+}}, %[[SUMS]]) {ark.cta_collective = 1 : i64}
// CHECK: scf.for %[[VCTA:.+]] = %[[BEGIN]] to %[[END]]
// CHECK: %[[FIRST:.+]] = arith.muli %{{.+}}, %c4
// CHECK: memref.subview %[[SUMS]][0, %[[FIRST]]] [1, 4]
// CHECK: %[[ROW:.+]] = arith.muli %{{.+}}, %c2
// CHECK: %[[SECOND:.+]] = arith.addi %[[ROW]], %[[BEFORE]]
// CHECK: memref.subview %[[SUMS]][0, %[[SECOND]]] [1, 2]
// CHECK-LABEL: func.func private @body_matmul_matmul_stream(
// CHECK: %[[WARP:.+]] = arith.divui %{{.+}}, %c32
// CHECK: %[[OPEN:.+]]:7 = call @ark_stream_open_all(%c2_i32)
// CHECK: arith.muli %{{.+}}, %c4
// CHECK: arith.muli %{{.+}}, %c2
// CHECK: %[[CHUNKS:.+]] = arith.muli %{{.+}}, %c1
// CHECK: scf.for %{{.+}} = %[[WARP]] to %[[CHUNKS]] step %c16{{.*}} iter_args(%{{.+}} = %[[OPEN]]#0
// CHECK: call @ark_stream_close
// CHECK-NOT: ark_stream_open
// CHECK: return
ark.program @two(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %w: tensor<256x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<1x512xbf16> {ark.name = "y"}, tensor<1x256xbf16> {ark.name = "z"}) {
  %0 = ark.matmul %x, %v {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %1 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xbf16>, tensor<256x512xbf16>) -> tensor<1x256xbf16>
  ark.return %0, %1 : tensor<1x512xbf16>, tensor<1x256xbf16>
}

// -----

// The last vCTA has 2 of its 6 rows: the rows of the first product end at row 668 of the parameter.
// CHECK-LABEL: func.func private @body_matmul_matmul_mul(
// CHECK-SAME: %[[BEGIN:[^:]+]]: index, %[[END:[^:]+]]: index
// CHECK: %[[SUMS:.+]] = memref.alloca() {{.*}} : memref<1x12xf32>
// CHECK: %[[UNCLIPPED:.+]] = arith.muli %[[END]], %c6
// CHECK: %[[LAST:.+]] = arith.minui %[[UNCLIPPED]], %c668
// CHECK: %[[FIRST:.+]] = arith.muli %[[BEGIN]], %c6
// CHECK: %[[BEFORE:.+]] = arith.subi %[[LAST]], %[[FIRST]]
// CHECK: %[[SECOND:.+]] = arith.addi %{{.+}}, %[[BEFORE]]
// CHECK: memref.subview %[[SUMS]][0, %[[SECOND]]]
// CHECK-LABEL: func.func private @body_matmul_matmul_mul_stream(
// CHECK-COUNT-2: arith.minui %{{.+}}, %c668
// CHECK: scf.for
ark.program @clipped(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<668x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %w: tensor<668x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x668xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %v {transpose_other} : (tensor<1x512xbf16>, tensor<668x512xbf16>) -> tensor<1x668xbf16>
  %1 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xbf16>, tensor<668x512xbf16>) -> tensor<1x668xbf16>
  %2 = ark.mul %0, %1 : (tensor<1x668xbf16>, tensor<1x668xbf16>) -> tensor<1x668xbf16>
  ark.return %2 : tensor<1x668xbf16>
}

// -----

// Each product of quantized weights has a loop, which loads the scales of its rows.
// CHECK-LABEL: func.func private @body_quantized_matmul_quantized_matmul_stream(
// CHECK-NOT: ark_stream_open_all
// CHECK: call @ark_stream_open()
// CHECK: call @ark_stream_close
// CHECK: call @ark_stream_open()
// CHECK: call @ark_stream_close
ark.program @quantized(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<512x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %s: tensor<512x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"},
    %w: tensor<512x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %t: tensor<512x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "t"})
    -> (tensor<1x512xbf16> {ark.name = "y"}, tensor<1x512xbf16> {ark.name = "z"}) {
  %0 = ark.quantized_matmul %x, %v scales %s : (tensor<1x512xbf16>, tensor<512x512xf8E4M3FN>, tensor<512x4xf32>) -> tensor<1x512xbf16>
  %1 = ark.quantized_matmul %x, %w scales %t : (tensor<1x512xbf16>, tensor<512x512xf8E4M3FN>, tensor<512x4xf32>) -> tensor<1x512xbf16>
  ark.return %0, %1 : tensor<1x512xbf16>, tensor<1x512xbf16>
}
