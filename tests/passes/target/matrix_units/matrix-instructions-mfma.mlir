// A product of 16x16x16 is one MFMA instruction of gfx942. The elements of each thread are those of AMD's tables for
// `v_mfma_f32_16x16x16_f16`: thread l holds row (or column) l mod 16 of the operands, and four consecutive elements
// along K from 4 * (l / 16) on; and four consecutive rows of column l mod 16 of the accumulators.

// RUN: ark-opt %s --ark-test-matrix-instructions --inline --canonicalize --cse | FileCheck %s

// LLVM accepts the types of the operands.
// RUN: ark-opt %s --ark-test-matrix-instructions --convert-vector-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm --convert-arith-to-llvm --convert-index-to-llvm --reconcile-unrealized-casts | sed 's/attributes {ark.target = [^{]*} {/{/' | mlir-translate --mlir-to-llvmir | FileCheck %s --check-prefix=LLVM
// LLVM: call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16f16(<4 x half> %{{.+}}, <4 x half> %{{.+}}, <4 x float> %{{.+}}, i32 0, i32 0, i32 0)
// LLVM: call <4 x float> @llvm.amdgcn.mfma.f32.16x16x16bf16.1k(<4 x i16> %{{.+}}, <4 x i16> %{{.+}}, <4 x float> %{{.+}}, i32 0, i32 0, i32 0)

module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 4300, flops = 800000, handoff = 1500, barrier = 2500, overhead = 400>} {

// CHECK-LABEL: func.func @product_f16(
// CHECK-SAME: %[[A:[^:]+]]: memref<16x16xf16>, %[[B:[^:]+]]: memref<16x16xf16>, %[[C:[^:]+]]: memref<16x16xf32>, %[[THREAD:[^:]+]]: index
// CHECK: %[[BLOCK:.+]] = arith.divui %[[THREAD]], %c16
// CHECK: %[[ROW:.+]] = arith.muli %[[BLOCK]], %c4
// CHECK: %[[COLUMN:.+]] = arith.remui %[[THREAD]], %c16
// CHECK: memref.load %[[C]][%[[ROW]], %[[COLUMN]]]
// CHECK: memref.load %[[A]][%[[COLUMN]], %[[ROW]]]
// CHECK: memref.load %[[B]][%[[ROW]], %[[COLUMN]]]
// CHECK: %[[SUMS:.+]] = rocdl.mfma.f32.16x16x16f16
// CHECK-SAME: vector<4xf16>, vector<4xf16>, vector<4xf32>
// CHECK-NOT: rocdl.mfma
// CHECK: memref.store %{{.+}}, %[[C]][%[[ROW]], %[[COLUMN]]]
func.func @product_f16(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x16xf16>, memref<16x16xf16>) outs(%c : memref<16x16xf32>)
  return
}

// CHECK-LABEL: func.func @thread_0(
// CHECK-SAME: %[[A:[^:]+]]: memref<16x16xf16>, %[[B:[^:]+]]: memref<16x16xf16>, %[[C:[^:]+]]: memref<16x16xf32>
// CHECK: memref.load %[[C]][%c0, %c0]
// CHECK: memref.load %[[C]][%c1, %c0]
// CHECK: memref.load %[[C]][%c2, %c0]
// CHECK: memref.load %[[C]][%c3, %c0]
// CHECK: memref.load %[[A]][%c0, %c0]
// CHECK: memref.load %[[A]][%c0, %c1]
// CHECK: memref.load %[[A]][%c0, %c2]
// CHECK: memref.load %[[A]][%c0, %c3]
// CHECK: memref.load %[[B]][%c0, %c0]
// CHECK: memref.load %[[B]][%c1, %c0]
// CHECK: memref.load %[[B]][%c2, %c0]
// CHECK: memref.load %[[B]][%c3, %c0]
// CHECK-NOT: memref.load
func.func @thread_0(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>) {
  %thread = arith.constant 0 : index
  call @product_f16(%a, %b, %c, %thread) : (memref<16x16xf16>, memref<16x16xf16>, memref<16x16xf32>, index) -> ()
  return
}

// CHECK-LABEL: func.func @thread_37(
// CHECK-SAME: %[[A:[^:]+]]: memref<16x16xf16>, %[[B:[^:]+]]: memref<16x16xf16>, %[[C:[^:]+]]: memref<16x16xf32>
// CHECK: %[[C0:.+]] = memref.load %[[C]][%c8, %c5]
// CHECK: %[[C1:.+]] = memref.load %[[C]][%c9, %c5]
// CHECK: %[[C2:.+]] = memref.load %[[C]][%c10, %c5]
// CHECK: %[[C3:.+]] = memref.load %[[C]][%c11, %c5]
// CHECK: %[[A0:.+]] = memref.load %[[A]][%c5, %c8]
// CHECK: %[[A1:.+]] = memref.load %[[A]][%c5, %c9]
// CHECK: %[[A2:.+]] = memref.load %[[A]][%c5, %c10]
// CHECK: %[[A3:.+]] = memref.load %[[A]][%c5, %c11]
// CHECK: memref.load %[[B]][%c8, %c5]
// CHECK: memref.load %[[B]][%c9, %c5]
// CHECK: memref.load %[[B]][%c10, %c5]
// CHECK: memref.load %[[B]][%c11, %c5]
// CHECK-NOT: memref.load
// CHECK: vector.from_elements %[[C0]], %[[C1]], %[[C2]], %[[C3]] : vector<4xf32>
// CHECK: rocdl.mfma.f32.16x16x16f16
// CHECK: memref.store %{{.+}}, %[[C]][%c8, %c5]
// CHECK: memref.store %{{.+}}, %[[C]][%c9, %c5]
// CHECK: memref.store %{{.+}}, %[[C]][%c10, %c5]
// CHECK: memref.store %{{.+}}, %[[C]][%c11, %c5]
func.func @thread_37(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>) {
  %thread = arith.constant 37 : index
  call @product_f16(%a, %b, %c, %thread) : (memref<16x16xf16>, memref<16x16xf16>, memref<16x16xf32>, index) -> ()
  return
}

// Operands of bf16 are integers.
// CHECK-LABEL: func.func @product_bf16(
// CHECK: rocdl.mfma.f32.16x16x16bf16.1k
// CHECK-SAME: vector<4xi16>, vector<4xi16>, vector<4xf32>
func.func @product_bf16(%a: memref<16x16xbf16>, %b: memref<16x16xbf16>, %c: memref<16x16xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x16xbf16>, memref<16x16xbf16>) outs(%c : memref<16x16xf32>)
  return
}

// Further tiles and further elements along K take further instructions.
// CHECK-LABEL: func.func @tiles(
// CHECK-COUNT-8: rocdl.mfma.f32.16x16x16f16
// CHECK-NOT: rocdl.mfma
// CHECK: return
func.func @tiles(%a: memref<32x32xf16>, %b: memref<32x32xf16>, %c: memref<32x32xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<32x32xf16>, memref<32x32xf16>) outs(%c : memref<32x32xf32>)
  return
}
}
