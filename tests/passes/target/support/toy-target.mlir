// A toy GPU, added as docs/extending.md says.
//
// 1. Facts: an attribute. Warps have 16 threads, and the instruction multiplies 8x8x4. Ark knows no architecture of
//    this name, so the attribute states all facts.
// DEFINE: %{mma} = #ark.mma<kind = other, m = 8, n = 8, k = 4, lhs = #ark.fragment<outer = [1, 1], threads = [8, 2], strides = [1, 8], elements = [1, 2]>, rhs = #ark.fragment<outer = [1, 1], threads = [2, 8], strides = [8, 1], elements = [2, 1]>, acc = #ark.fragment<outer = [1, 1], threads = [4, 4], strides = [4, 1], elements = [2, 2]>>
// DEFINE: %{figures} = sms = 2, warps = 4, shared_memory = 65536, bandwidth = 300, flops = 60000, handoff = 700, barrier = 1200, overhead = 250
// DEFINE: %{toy} = #ark.target<backend = toy, arch = "toy", %{figures}, gpu = #ark.gpu<warp_size = 16, scopes = #ark.scopes<device = "agent">, mma = [%{mma}]>>
//
// 2. Kernel: the primitives of tests/lib/ToyKernel.mlir.
// RUN: ark-opt %s '--ark-target=%{toy}' --ark-compile-to=kernel -o %t
// RUN: FileCheck %s --check-prefix=KERNEL --input-file=%t
//
// 3. Backend: tests/lib/ToyBackend.cpp. First the passes up to the division of bodies among threads, then all.
// RUN: ark-opt %t --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-test-matrix-instructions{threads=64},ark-fuse-element-ops{threads=64},ark-bodies-to-loops,func.func(convert-linalg-to-parallel-loops),ark-merge-vctas,ark-split-reductions{threads=64},ark-unroll-and-jam,ark-widen-elements{threads=64},ark-map-to-threads{threads=64},canonicalize,cse)' | FileCheck %s
// RUN: ark-opt %t --ark-compile-from=target --ark-compile-to=target | FileCheck %s --check-prefix=TARGET
//
// 4. The Python package: tests/support/toy, which runs programs.

// A target whose warps do not fit the kernel texts is an error, not wrong code.
// DEFINE: %{wide} = #ark.target<backend = toy, arch = "toy", %{figures}, gpu = #ark.gpu<warp_size = 32, scopes = #ark.scopes<device = "agent">>>
// RUN: not ark-opt %s '--ark-target=%{wide}' --ark-compile-to=target 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: has warps of 32 threads; kernels for toy need 16

// Figures of the target decide the tiles, and the kernel dispatches the body.
// KERNEL: #ark.target<backend = toy, arch = "toy", sms = 2, warps = 4
// KERNEL: ark.kernel @product
// KERNEL: func.func private @body_matmul_relu(
// KERNEL: func.func private @ark_lane()

// The kernel and the body are functions of the LLVM dialect in a gpu.module, which calls the toy's instructions.
// TARGET: gpu.module @ark_gpu
// TARGET: llvm.func @toy_multiply(vector<2xf16>, vector<2xf16>, f32, f32, f32, f32)
// TARGET: llvm.func {{.*}}@body_matmul_relu(
// TARGET-COUNT-16: llvm.call @toy_multiply
// TARGET: llvm.func {{.*}}@ark_kernel(%{{.+}}: !llvm.ptr) attributes {gpu.kernel

// Every warp of the CTA takes every fourth tile of 8x8, of 2 by 6 in a tile of 16x48. A depth of 64 takes 16
// instructions.
// CHECK: func.func private @toy_multiply(vector<2xf16>, vector<2xf16>, f32, f32, f32, f32)
// CHECK: func.func private @body_matmul_relu(
// CHECK-NOT: linalg.
// CHECK: %[[THREAD:.+]] = gpu.thread_id
// CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %c16
// CHECK: scf.for %{{.+}} = %[[WARP]] to %c12 step %c4
// CHECK-COUNT-16: func.call @toy_multiply
// CHECK-NOT: {{linalg|func.call @toy_multiply|scf.forall|scf.parallel}}
// The accumulators are in shared memory, from which other threads read them.
// CHECK: gpu.barrier
// CHECK: arith.maximumf
// CHECK-NOT: {{linalg|scf.forall|scf.parallel}}
// CHECK: return
ark.program @product(
    %x: tensor<32x64xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<48x64xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<32x48xf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<32x64xf16>, tensor<48x64xf16>) -> tensor<32x48xf16>
  %1 = ark.relu %0 : (tensor<32x48xf16>) -> tensor<32x48xf16>
  ark.return %1 : tensor<32x48xf16>
}
