// Instructions of 8-bit operands: a word of a thread has four elements along K. Those of AMD take one integer of a thread,
// or a vector of four words.

// RUN: ark-opt %s --split-input-file --ark-test-matrix-instructions --inline --canonicalize --cse | FileCheck %s

// LLVM accepts the types of the operands.
// RUN: ark-opt %s --split-input-file --ark-test-matrix-instructions --convert-vector-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-arith-to-llvm --convert-index-to-llvm --reconcile-unrealized-casts | sed 's/attributes {ark.target = .*} {$/{/' | mlir-translate --split-input-file --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM
// LLVM: call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x16i8(i32 %{{.+}}, i32 %{{.+}}, <4 x i32> %{{.+}}, i32 0, i32 0, i32 0)
// LLVM: call <16 x i32> @llvm.amdgcn.mfma.i32.32x32x16.i8(i64 %{{.+}}, i64 %{{.+}}, <16 x i32> %{{.+}}, i32 0, i32 0, i32 0)
// LLVM: call <4 x i32> @llvm.amdgcn.mfma.i32.16x16x64.i8(<4 x i32> %{{.+}}, <4 x i32> %{{.+}}, <4 x i32> %{{.+}}, i32 0, i32 0, i32 0)
// LLVM: call { i32, i32, i32, i32 } @llvm.nvvm.mma.m16n8k32.row.col.s8(i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}}, i32 %{{.+}})

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx90a", sms = 110, warps = 4,
    shared_memory = 65536, bandwidth = 1400, flops = 150000, handoff = 1200, barrier = 2000, overhead = 400,
    gpu = #ark.gpu<warp_size = 64, mma = [#ark.mma<kind = mfma, m = 16, n = 16, k = 16, operands = i8,
      lhs = #ark.fragment<outer = [1, 1], threads = [16, 4], strides = [1, 16], elements = [1, 4]>,
      rhs = #ark.fragment<outer = [1, 1], threads = [4, 16], strides = [16, 1], elements = [4, 1]>,
      acc = #ark.fragment<outer = [1, 1], threads = [4, 16], strides = [16, 1], elements = [4, 1]>>]>>} {

// Thread 37 has row and column 5, and the elements 8 to 11 along K.
// CHECK-LABEL: func.func @thread_37(
// CHECK-SAME: %[[A:[^:]+]]: memref<16x16xi8>, %[[B:[^:]+]]: memref<16x16xi8>, %[[C:[^:]+]]: memref<16x16xi32>
// CHECK-COUNT-4: memref.load %[[C]]
// CHECK: memref.load %[[A]][%c5, %c8]
// CHECK: memref.load %[[A]][%c5, %c9]
// CHECK: memref.load %[[A]][%c5, %c10]
// CHECK: memref.load %[[A]][%c5, %c11]
// CHECK: vector.from_elements {{.+}} : vector<4xi8>
// CHECK: memref.load %[[B]][%c8, %c5]
// CHECK: rocdl.mfma.i32.16x16x16i8 {{.+}} : (i32, i32, vector<4xi32>, i32, i32, i32) -> vector<4xi32>
// CHECK-NOT: rocdl.mfma
// CHECK: memref.store %{{.+}}, %[[C]][%c8, %c5]
func.func private @product(%a: memref<16x16xi8>, %b: memref<16x16xi8>, %c: memref<16x16xi32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x16xi8>, memref<16x16xi8>) outs(%c : memref<16x16xi32>)
  return
}
func.func @thread_37(%a: memref<16x16xi8>, %b: memref<16x16xi8>, %c: memref<16x16xi32>) {
  %thread = arith.constant 37 : index
  call @product(%a, %b, %c, %thread) : (memref<16x16xi8>, memref<16x16xi8>, memref<16x16xi32>, index) -> ()
  return
}
}

// -----

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 65536, bandwidth = 4300, flops = 800000, handoff = 1500, barrier = 2500, overhead = 400,
    gpu = #ark.gpu<warp_size = 64, mma = [#ark.mma<kind = mfma, m = 32, n = 32, k = 16, operands = i8,
      lhs = #ark.fragment<outer = [1, 1], threads = [32, 2], strides = [1, 32], elements = [1, 8]>,
      rhs = #ark.fragment<outer = [1, 1], threads = [2, 32], strides = [32, 1], elements = [8, 1]>,
      acc = #ark.fragment<outer = [4, 1], threads = [2, 32], strides = [32, 1], elements = [4, 1]>>]>>} {

// CHECK-LABEL: func.func @large(
// CHECK-COUNT-2: rocdl.mfma.i32.32x32x16.i8 {{.+}} : (i64, i64, vector<16xi32>, i32, i32, i32) -> vector<16xi32>
// CHECK-NOT: rocdl.mfma
func.func @large(%a: memref<32x32xi8>, %b: memref<32x32xi8>, %c: memref<32x32xi32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<32x32xi8>, memref<32x32xi8>) outs(%c : memref<32x32xi32>)
  return
}
}

// -----

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx950", sms = 256, warps = 4,
    shared_memory = 163840, bandwidth = 6500, flops = 1600000, handoff = 1500, barrier = 2500, overhead = 400,
    gpu = #ark.gpu<warp_size = 64, mma = [#ark.mma<kind = mfma, m = 16, n = 16, k = 64, operands = i8,
      lhs = #ark.fragment<outer = [1, 1], threads = [16, 4], strides = [1, 16], elements = [1, 16]>,
      rhs = #ark.fragment<outer = [1, 1], threads = [4, 16], strides = [16, 1], elements = [16, 1]>,
      acc = #ark.fragment<outer = [1, 1], threads = [4, 16], strides = [16, 1], elements = [4, 1]>>]>>} {

// CHECK-LABEL: func.func @deep(
// CHECK: rocdl.mfma.i32.16x16x64.i8 {{.+}} : (vector<4xi32>, vector<4xi32>, vector<4xi32>, i32, i32, i32) -> vector<4xi32>
func.func @deep(%a: memref<16x64xi8>, %b: memref<64x16xi8>, %c: memref<16x16xi32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x64xi8>, memref<64x16xi8>) outs(%c : memref<16x16xi32>)
  return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_80", sms = 108, warps = 16,
    shared_memory = 166912, bandwidth = 1850, flops = 250000, handoff = 700, barrier = 1200, overhead = 250,
    gpu = #ark.gpu<warp_size = 32, mma = [#ark.mma<kind = mma_sync, m = 16, n = 8, k = 32, operands = i8,
      lhs = #ark.fragment<outer = [2, 2], threads = [8, 4], strides = [4, 1], elements = [1, 4]>,
      rhs = #ark.fragment<outer = [2, 1], threads = [4, 8], strides = [1, 4], elements = [4, 1]>,
      acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>]>>} {

// CHECK-LABEL: func.func @nvidia(
// CHECK: nvvm.mma.sync {{.*}}intOverflowBehavior = #nvvm.mma_int_overflow<wrapped>{{.*}}multiplicandAPtxType = #nvvm.mma_type<s8>{{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 32>{{.*}}(i32, i32, i32) -> !llvm.struct<(i32, i32, i32, i32)>
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
func.func @nvidia(%a: memref<16x32xi8>, %b: memref<32x8xi8>, %c: memref<16x8xi32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x32xi8>, memref<32x8xi8>) outs(%c : memref<16x8xi32>)
  return
}
}
