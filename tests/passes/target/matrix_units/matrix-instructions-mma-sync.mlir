// A product of 16x16x16 is two `mma.sync` of m16n8k16 on sm_80. The elements of each thread are those of the PTX ISA:
// thread l has row g = l / 4 and row g + 8 of A, column g of B, and pairs of neighbours from 2 * (l mod 4) on.

// RUN: ark-opt %s --ark-test-matrix-instructions --inline --canonicalize --cse | FileCheck %s

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_80", sms = 108, warps = 16,
    shared_memory = 166912, bandwidth = 1850, flops = 250000, handoff = 700, barrier = 1200, overhead = 250>} {

// CHECK-LABEL: func.func @product_f16(
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>{{.*}}(vector<2xf16>, vector<2xf16>, f32)
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
func.func @product_f16(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x16xf16>, memref<16x16xf16>) outs(%c : memref<16x16xf32>)
  return
}

// The instruction takes row g and row g + 8 in turn.
// CHECK-LABEL: func.func @thread_13(
// CHECK-SAME: %[[A:[^:]+]]: memref<16x16xf16>, %[[B:[^:]+]]: memref<16x16xf16>, %[[C:[^:]+]]: memref<16x16xf32>
// CHECK: %[[C0:.+]] = memref.load %[[C]][%c3, %c2]
// CHECK: %[[C1:.+]] = memref.load %[[C]][%c3, %c3]
// CHECK: %[[C2:.+]] = memref.load %[[C]][%c11, %c2]
// CHECK: %[[C3:.+]] = memref.load %[[C]][%c11, %c3]
// CHECK: %[[A0:.+]] = memref.load %[[A]][%c3, %c2]
// CHECK: %[[A1:.+]] = memref.load %[[A]][%c3, %c3]
// CHECK: %[[W0:.+]] = vector.from_elements %[[A0]], %[[A1]]
// CHECK: memref.load %[[A]][%c11, %c2]
// CHECK: memref.load %[[A]][%c11, %c3]
// CHECK: %[[W1:.+]] = vector.from_elements
// CHECK: memref.load %[[A]][%c3, %c10]
// CHECK: memref.load %[[A]][%c3, %c11]
// CHECK: %[[W2:.+]] = vector.from_elements
// CHECK: memref.load %[[A]][%c11, %c10]
// CHECK: memref.load %[[A]][%c11, %c11]
// CHECK: %[[W3:.+]] = vector.from_elements
// CHECK: memref.load %[[B]][%c2, %c3]
// CHECK: memref.load %[[B]][%c3, %c3]
// CHECK: %[[V0:.+]] = vector.from_elements
// CHECK: memref.load %[[B]][%c10, %c3]
// CHECK: memref.load %[[B]][%c11, %c3]
// CHECK: %[[V1:.+]] = vector.from_elements
// CHECK-NOT: memref.load
// CHECK: nvvm.mma.sync A[%[[W0]], %[[W1]], %[[W2]], %[[W3]]] B[%[[V0]], %[[V1]]] C[%[[C0]], %[[C1]], %[[C2]], %[[C3]]]
// CHECK: memref.store %{{.+}}, %[[C]][%c3, %c2]
// CHECK: memref.store %{{.+}}, %[[C]][%c3, %c3]
// CHECK: memref.store %{{.+}}, %[[C]][%c11, %c2]
// CHECK: memref.store %{{.+}}, %[[C]][%c11, %c3]
// The second instruction has the other eight columns.
// CHECK: memref.load %[[C]][%c3, %c10]
// CHECK: memref.load %[[B]][%c2, %c11]
func.func @thread_13(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>) {
  %thread = arith.constant 13 : index
  call @product_f16(%a, %b, %c, %thread) : (memref<16x16xf16>, memref<16x16xf16>, memref<16x16xf32>, index) -> ()
  return
}

// Operands of bf16 are words.
// CHECK-LABEL: func.func @product_bf16(
// CHECK: llvm.bitcast %{{.+}} : vector<2xbf16> to i32
// CHECK: nvvm.mma.sync {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>{{.*}}(i32, i32, f32)
func.func @product_bf16(%a: memref<16x16xbf16>, %b: memref<16x16xbf16>, %c: memref<16x16xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x16xbf16>, memref<16x16xbf16>) outs(%c : memref<16x16xf32>)
  return
}
}
