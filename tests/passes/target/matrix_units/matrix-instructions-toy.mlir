// A toy GPU has warps of 16 threads and an instruction of 8x8x4, whose accumulators are 2x2 elements per thread. Its
// description is the attribute, and its lowering a class of tests/lib/TestMatrixInstructions.cpp.

// RUN: ark-opt %s --ark-test-matrix-instructions --inline --canonicalize --cse | FileCheck %s

#mma = #ark.mma<kind = other, m = 8, n = 8, k = 4,
    lhs = #ark.fragment<outer = [1, 1], threads = [8, 2], strides = [1, 8], elements = [1, 2]>,
    rhs = #ark.fragment<outer = [1, 1], threads = [2, 8], strides = [8, 1], elements = [2, 1]>,
    acc = #ark.fragment<outer = [1, 1], threads = [4, 4], strides = [4, 1], elements = [2, 2]>>
module attributes {ark.target = #ark.target<backend = hip, arch = "toy", sms = 2, warps = 4,
    shared_memory = 65536, bandwidth = 300, flops = 60000, handoff = 700, barrier = 1200, overhead = 250,
    gpu = #ark.gpu<warp_size = 16, mma = [#mma]>>} {

// CHECK: func.func private @toy_multiply(vector<2xf16>, vector<2xf16>, f32, f32, f32, f32) -> (f32, f32, f32, f32)

// CHECK-LABEL: func.func @product(
// CHECK-COUNT-16: call @toy_multiply
// CHECK-NOT: call @toy_multiply
// CHECK: return
func.func @product(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>, %thread: index) {
  linalg.matmul ins(%a, %b : memref<16x16xf16>, memref<16x16xf16>) outs(%c : memref<16x16xf32>)
  return
}

// CHECK-LABEL: func.func @thread_11(
// CHECK-SAME: %[[A:[^:]+]]: memref<16x16xf16>, %[[B:[^:]+]]: memref<16x16xf16>, %[[C:[^:]+]]: memref<16x16xf32>
// CHECK: %[[C0:.+]] = memref.load %[[C]][%c4, %c6]
// CHECK: %[[C1:.+]] = memref.load %[[C]][%c4, %c7]
// CHECK: %[[C2:.+]] = memref.load %[[C]][%c5, %c6]
// CHECK: %[[C3:.+]] = memref.load %[[C]][%c5, %c7]
// CHECK: %[[A0:.+]] = memref.load %[[A]][%c3, %c2]
// CHECK: %[[A1:.+]] = memref.load %[[A]][%c3, %c3]
// CHECK: %[[LHS:.+]] = vector.from_elements %[[A0]], %[[A1]]
// CHECK: %[[B0:.+]] = memref.load %[[B]][%c2, %c3]
// CHECK: %[[B1:.+]] = memref.load %[[B]][%c3, %c3]
// CHECK: %[[RHS:.+]] = vector.from_elements %[[B0]], %[[B1]]
// CHECK: %[[SUMS:.+]]:4 = call @toy_multiply(%[[LHS]], %[[RHS]], %[[C0]], %[[C1]], %[[C2]], %[[C3]])
// The next instruction continues four elements later along K.
// CHECK: memref.load %[[A]][%c3, %c6]
// CHECK: memref.load %[[A]][%c3, %c7]
// CHECK: memref.load %[[B]][%c6, %c3]
// CHECK: memref.load %[[B]][%c7, %c3]
// CHECK: call @toy_multiply(%{{.+}}, %{{.+}}, %[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2, %[[SUMS]]#3)
// CHECK: memref.store %{{.+}}, %[[C]][%c4, %c6]
func.func @thread_11(%a: memref<16x16xf16>, %b: memref<16x16xf16>, %c: memref<16x16xf32>) {
  %thread = arith.constant 11 : index
  call @product(%a, %b, %c, %thread) : (memref<16x16xf16>, memref<16x16xf16>, memref<16x16xf32>, index) -> ()
  return
}
}
