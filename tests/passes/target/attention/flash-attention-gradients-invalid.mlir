// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-flash-attention-gradients=threads=512 | FileCheck %s --implicit-check-not=scf.forall --implicit-check-not=nvvm

#left = affine_map<(r, o, d, c, b) -> (r, d)>
#right = affine_map<(r, o, d, c, b) -> (o, d)>
#left_slope = affine_map<(r, o, d, c, b) -> (r, c)>
#right_slope = affine_map<(r, o, d, c, b) -> (o, c)>
#row = affine_map<(r, o, d, c, b) -> (r)>
#pair = affine_map<(r, o, d, c, b) -> (r, o)>
#block = affine_map<(r, o, d, c, b) -> (r, b)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @wide, operands = 0 : i64}, {function = @halves, operands = 0 : i64}, {function = @columns, operands = 0 : i64}, {function = @deep, operands = 0 : i64}, {function = @narrow, operands = 0 : i64}, {function = @rows, operands = 0 : i64}, {function = @unaligned, operands = 0 : i64}, {function = @clipped, operands = 0 : i64}, {function = @several, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// Matrix units of warps do not multiply f32.
// CHECK-LABEL: func.func private @wide(
// CHECK: ark.blocked_attention_gradient
func.func private @wide(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<64x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<64xf32>, %mean: memref<64xf32>,
    %dq: memref<64x64xf32>, %w: memref<64x32xf32>, %t: memref<64x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x64xf32>, memref<96x64xf32>, memref<64x64xf32>, memref<96x64xf32>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x64xf32>) memory(%w, %t : memref<64x32xf32>, memref<64x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// The results are not f32.
// CHECK-LABEL: func.func private @halves(
// CHECK: ark.blocked_attention_gradient
func.func private @halves(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<64xf32>, %mean: memref<64xf32>,
    %dq: memref<64x64xbf16>, %w: memref<64x32xbf16>, %t: memref<64x32xbf16>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x64xbf16>, memref<96x64xbf16>, memref<64x64xbf16>, memref<96x64xbf16>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x64xbf16>) memory(%w, %t : memref<64x32xbf16>, memref<64x32xbf16>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: bf16):
    ark.yield %dot : bf16
  }
  return
}

// Keys and values have different sizes.
// CHECK-LABEL: func.func private @columns(
// CHECK: ark.blocked_attention_gradient
func.func private @columns(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<64x32xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x32xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<64xf32>, %mean: memref<64xf32>,
    %dq: memref<64x64xf32>, %w: memref<64x32xf32>, %t: memref<64x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x64xbf16>, memref<96x64xbf16>, memref<64x32xbf16>, memref<96x32xbf16>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x64xf32>) memory(%w, %t : memref<64x32xf32>, memref<64x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// Registers do not hold the sums of so many columns.
// CHECK-LABEL: func.func private @deep(
// CHECK: ark.blocked_attention_gradient
func.func private @deep(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x144xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x144xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<64x144xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x144xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<64xf32>, %mean: memref<64xf32>,
    %dq: memref<64x144xf32>, %w: memref<64x32xf32>, %t: memref<64x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x144xbf16>, memref<96x144xbf16>, memref<64x144xbf16>, memref<96x144xbf16>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x144xf32>) memory(%w, %t : memref<64x32xf32>, memref<64x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// The head size is not a multiple of the depth of an instruction.
// CHECK-LABEL: func.func private @narrow(
// CHECK: ark.blocked_attention_gradient
func.func private @narrow(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x72xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x72xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<64x72xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x72xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<64xf32>, %mean: memref<64xf32>,
    %dq: memref<64x72xf32>, %w: memref<64x32xf32>, %t: memref<64x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x72xbf16>, memref<96x72xbf16>, memref<64x72xbf16>, memref<96x72xbf16>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x72xf32>) memory(%w, %t : memref<64x32xf32>, memref<64x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// There are more blocks of 16 rows than warps.
// CHECK-LABEL: func.func private @rows(
// CHECK: ark.blocked_attention_gradient
func.func private @rows(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<264x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<264x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<264xf32>, %mean: memref<264xf32>,
    %dq: memref<264x64xf32>, %w: memref<264x32xf32>, %t: memref<264x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<264x64xbf16>, memref<96x64xbf16>, memref<264x64xbf16>, memref<96x64xbf16>, memref<264xf32>, memref<264xf32>)
      outs(%dq : memref<264x64xf32>) memory(%w, %t : memref<264x32xf32>, memref<264x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// Rows are not known to be aligned to 16 bytes.
// CHECK-LABEL: func.func private @unaligned(
// CHECK: ark.blocked_attention_gradient
func.func private @unaligned(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<64x64xbf16>, %k: memref<96x64xbf16>, %g: memref<64x64xbf16>, %v: memref<96x64xbf16>, %lse: memref<64xf32>, %mean: memref<64xf32>,
    %dq: memref<64x64xf32>, %w: memref<64x32xf32>, %t: memref<64x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<64x64xbf16>, memref<96x64xbf16>, memref<64x64xbf16>, memref<96x64xbf16>, memref<64xf32>, memref<64xf32>)
      outs(%dq : memref<64x64xf32>) memory(%w, %t : memref<64x32xf32>, memref<64x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// Nothing bounds the number of rows.
// CHECK-LABEL: func.func private @clipped(
// CHECK: ark.blocked_attention_gradient
func.func private @clipped(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<?x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<?x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<?xf32>, %mean: memref<?xf32>,
    %dq: memref<?x64xf32>, %w: memref<?x32xf32>, %t: memref<?x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<?x64xbf16>, memref<96x64xbf16>, memref<?x64xbf16>, memref<96x64xbf16>, memref<?xf32>, memref<?xf32>)
      outs(%dq : memref<?x64xf32>) memory(%w, %t : memref<?x32xf32>, memref<?x32xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// A tile has queries of two heads.
// CHECK-LABEL: func.func private @several(
// CHECK: ark.blocked_attention_gradient
func.func private @several(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<2x32x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %k: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %g: memref<2x32x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<96x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %lse: memref<2x32xf32>, %mean: memref<2x32xf32>,
    %dq: memref<2x32x64xf32>, %w: memref<2x32x32xf32>, %t: memref<2x32x32xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %lse, %mean : memref<2x32x64xbf16>, memref<96x64xbf16>, memref<2x32x64xbf16>, memref<96x64xbf16>, memref<2x32xf32>, memref<2x32xf32>)
      outs(%dq : memref<2x32x64xf32>) memory(%w, %t : memref<2x32x32xf32>, memref<2x32x32xf32>)
      maps [affine_map<(h, r, o, d, c, b) -> (h, r, d)>, affine_map<(h, r, o, d, c, b) -> (o, d)>,
            affine_map<(h, r, o, d, c, b) -> (h, r, c)>, affine_map<(h, r, o, d, c, b) -> (o, c)>,
            affine_map<(h, r, o, d, c, b) -> (h, r)>, affine_map<(h, r, o, d, c, b) -> (h, r)>,
            affine_map<(h, r, o, d, c, b) -> (h, r, d)>, affine_map<(h, r, o, d, c, b) -> (h, r, b)>,
            affine_map<(h, r, o, d, c, b) -> (h, r, b)>] {
  ^bb0(%head: index, %row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}
