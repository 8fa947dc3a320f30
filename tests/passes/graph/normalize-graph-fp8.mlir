// RUN: ark-opt %s --ark-normalize-graph --split-input-file | FileCheck %s

// Products of a few rows read fp8 weights without a cast of the whole weight.
// CHECK-LABEL: ark.program @fewRows
// CHECK-SAME: (%[[X:.+]]: tensor<2x8x64xbf16> {{.*}}, %[[W:.+]]: tensor<96x64xf8E4M3FN> {{.*}})
// CHECK-NEXT: ark.matmul %[[X]], %[[W]] {transpose_other} : (tensor<2x8x64xbf16>, tensor<96x64xf8E4M3FN>) -> tensor<2x8x96xbf16>
ark.program @fewRows(
    %x: tensor<2x8x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<96x64xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2x8x96xbf16> {ark.name = "y"}) {
  %0 = ark.cast %w to bf16 : (tensor<96x64xf8E4M3FN>) -> tensor<96x64xbf16>
  %1 = ark.transpose %0 perm = [1, 0] : (tensor<96x64xbf16>) -> tensor<64x96xbf16>
  %2 = ark.matmul %x, %1 : (tensor<2x8x64xbf16>, tensor<64x96xbf16>) -> tensor<2x8x96xbf16>
  ark.return %2 : tensor<2x8x96xbf16>
}

// -----

// Every batch has its own right operand.
// CHECK-LABEL: ark.program @rowsOfBatches
// CHECK-NEXT: ark.matmul %{{.+}} : (tensor<32x1x64xf32>, tensor<32x64x96xf8E5M2>) -> tensor<32x1x96xf32>
ark.program @rowsOfBatches(
    %x: tensor<32x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x64x96xf8E5M2> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<32x1x96xf32> {ark.name = "y"}) {
  %0 = ark.cast %w to f32 : (tensor<32x64x96xf8E5M2>) -> tensor<32x64x96xf32>
  %1 = ark.matmul %x, %0 : (tensor<32x1x64xf32>, tensor<32x64x96xf32>) -> tensor<32x1x96xf32>
  ark.return %1 : tensor<32x1x96xf32>
}

// -----

// In products of many rows, both operands get one type.
// CHECK-LABEL: ark.program @manyRows
// CHECK-SAME: (%[[X:.+]]: tensor<17x64xbf16> {{.*}}, %[[W:.+]]: tensor<96x64xf8E4M3FN> {{.*}})
// CHECK-NEXT: %[[C:.+]] = ark.cast %[[W]] to bf16
// CHECK-NEXT: ark.matmul %[[X]], %[[C]] {transpose_other}
ark.program @manyRows(
    %x: tensor<17x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<96x64xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<17x96xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<17x64xbf16>, tensor<96x64xf8E4M3FN>) -> tensor<17x96xbf16>
  ark.return %0 : tensor<17x96xbf16>
}

// -----

// These casts stay, since removing a cast that rounds would change the result.
// CHECK-LABEL: ark.program @otherCasts
// CHECK: ark.cast %{{.+}} to bf16 : (tensor<96x64xf32>)
// CHECK: ark.matmul %{{.+}} : (tensor<1x64xbf16>, tensor<96x64xbf16>)
// CHECK: ark.cast %{{.+}} to f8E4M3FN
// CHECK: ark.matmul %{{.+}} : (tensor<1x64xf8E4M3FN>, tensor<96x64xf8E4M3FN>) -> tensor<1x96xf32>
ark.program @otherCasts(
    %x: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<96x64xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<96x64xf8E5M2> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %e: tensor<1x64xf8E4M3FN> {ark.kind = #ark.kind<input>, ark.name = "e"})
    -> (tensor<1x96xbf16> {ark.name = "y"}, tensor<1x96xf32> {ark.name = "z"}) {
  %0 = ark.cast %w to bf16 : (tensor<96x64xf32>) -> tensor<96x64xbf16>
  %1 = ark.matmul %x, %0 {transpose_other} : (tensor<1x64xbf16>, tensor<96x64xbf16>) -> tensor<1x96xbf16>
  %2 = ark.cast %v to f8E4M3FN : (tensor<96x64xf8E5M2>) -> tensor<96x64xf8E4M3FN>
  %3 = ark.matmul %e, %2 {transpose_other} : (tensor<1x64xf8E4M3FN>, tensor<96x64xf8E4M3FN>) -> tensor<1x96xf32>
  ark.return %1, %3 : tensor<1x96xbf16>, tensor<1x96xf32>
}

// -----

// Matrix units multiply 16-bit floats exactly, so that a matmul needs no casts of its operands to f32.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
// CHECK-LABEL: ark.program @widened
// CHECK: ark.matmul %{{.+}}, %{{.+}} {transpose_other} : (tensor<64x64xbf16>, tensor<96x64xbf16>) -> tensor<64x96xf32>
// The operands of the other matmul have different types.
// CHECK: ark.matmul %{{.+}} : (tensor<64x64xf32>, tensor<64x64xf32>)
ark.program @widened(
    %x: tensor<64x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %h: tensor<64x64xf16> {ark.kind = #ark.kind<input>, ark.name = "h"},
    %w: tensor<96x64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<64x96xf32> {ark.name = "y"}, tensor<64x64xf32> {ark.name = "z"}) {
  %0 = ark.cast %x to f32 : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %1 = ark.cast %w to f32 : (tensor<96x64xbf16>) -> tensor<96x64xf32>
  %2 = ark.matmul %0, %1 {transpose_other} : (tensor<64x64xf32>, tensor<96x64xf32>) -> tensor<64x96xf32>
  %3 = ark.cast %h to f32 : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %4 = ark.matmul %0, %3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  ark.return %2, %4 : tensor<64x96xf32>, tensor<64x64xf32>
}
}
