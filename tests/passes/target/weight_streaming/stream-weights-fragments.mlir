// The words that a thread loads are an operand of `mma.sync`, and the diagonals of its result are the sums of the
// product. The loop over chunks multiplies scalars if there is no such instruction, or if its accumulators lie in
// other threads than its operands.

// DEFINE: %{figures} = sms = 132, warps = 16, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200
// DEFINE: %{operands} = lhs = #ark.fragment<outer = [2, 2], threads = [8, 4], strides = [4, 1], elements = [1, 2]>, rhs = #ark.fragment<outer = [2, 1], threads = [4, 8], strides = [1, 4], elements = [2, 1]>
// DEFINE: %{acc} = outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]
// DEFINE: %{mma} = , mma = [#ark.mma<kind = mma_sync, m = 16, n = 8, k = 16, %{operands}, acc = #ark.fragment<%{acc}>>]
// DEFINE: %{compile} = ark-opt %s --ark-compile-to=kernel '--ark-target=#ark.target<backend = cuda, arch = "sm_90", %{figures}, gpu = #ark.gpu<warp_size = 32, features = "+ptx86", scopes = #ark.scopes<device = "gpu", system = "sys">, copies = [cp_async, bulk]%{mma}>>' -o %t && ark-opt %t --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)'

// RUN: %{compile} | FileCheck %s --check-prefix=SAME
// SAME: func.func private @body_matmul_stream(
// SAME: nvvm.mma.sync
// SAME-NOT: math.fma

// REDEFINE: %{acc} = outer = [2, 1], threads = [4, 8], strides = [8, 1], elements = [2, 1]
// RUN: %{compile} | FileCheck %s --check-prefix=SCALAR

// REDEFINE: %{mma} =
// RUN: %{compile} | FileCheck %s --check-prefix=SCALAR
// SCALAR: func.func private @body_matmul_stream(
// SCALAR-NOT: nvvm.mma.sync
// SCALAR: math.fma
// SCALAR: gpu.shuffle xor %{{.+}}, %c16_i32
// SCALAR-NOT: nvvm.mma.sync

ark.program @plain(
    %x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xbf16>, tensor<64x512xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}
