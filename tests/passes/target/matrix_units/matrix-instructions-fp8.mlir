// Instructions of 8-bit floats take two words of each thread as one integer.

// RUN: ark-opt %s --ark-test-matrix-instructions --canonicalize | FileCheck %s

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx950", sms = 256, warps = 4,
    shared_memory = 163840, bandwidth = 6500, flops = 1600000, handoff = 1500, barrier = 2500, overhead = 400,
    gpu = #ark.gpu<warp_size = 64, mma = [#ark.mma<kind = mfma, m = 16, n = 16, k = 32, operands = f8,
      lhs = #ark.fragment<outer = [1, 1], threads = [16, 4], strides = [1, 16], elements = [1, 8]>,
      rhs = #ark.fragment<outer = [1, 1], threads = [4, 16], strides = [16, 1], elements = [8, 1]>,
      acc = #ark.fragment<outer = [1, 1], threads = [4, 16], strides = [16, 1], elements = [4, 1]>>]>>} {

// CHECK-LABEL: func.func @floats(
// CHECK: rocdl.mfma.f32.16x16x32.fp8.fp8 {{.+}} : (i64, i64, vector<4xf32>, i32, i32, i32) -> vector<4xf32>
func.func @floats(%a: memref<16x32xf8E4M3FN>, %b: memref<32x16xf8E4M3FN>, %c: memref<16x16xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x32xf8E4M3FN>, memref<32x16xf8E4M3FN>) outs(%c : memref<16x16xf32>)
  return
}

// AMD calls E5M2 bf8.
// CHECK-LABEL: func.func @floats_of_large_range(
// CHECK: rocdl.mfma.f32.16x16x32.bf8.bf8
func.func @floats_of_large_range(%a: memref<16x32xf8E5M2>, %b: memref<32x16xf8E5M2>, %c: memref<16x16xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x32xf8E5M2>, memref<32x16xf8E5M2>) outs(%c : memref<16x16xf32>)
  return
}
}
