// Attention keeps exponentials in the registers in which the first product leaves them. An instruction whose
// accumulators lie in other threads than its operands, such as an MFMA instruction, does not permit this, and the op is
// expanded.

// DEFINE: %{figures} = sms = 132, warps = 16, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200
// DEFINE: %{operands} = lhs = #ark.fragment<outer = [2, 2], threads = [8, 4], strides = [4, 1], elements = [1, 2]>, rhs = #ark.fragment<outer = [2, 1], threads = [4, 8], strides = [1, 4], elements = [2, 1]>
// DEFINE: %{acc} = outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]
// DEFINE: %{compile} = ark-opt %s --ark-compile-to=kernel '--ark-target=#ark.target<backend = cuda, arch = "sm_90", %{figures}, gpu = #ark.gpu<warp_size = 32, features = "+ptx86", scopes = #ark.scopes<device = "gpu", system = "sys">, mma = [#ark.mma<kind = mma_sync, m = 16, n = 8, k = 16, %{operands}, acc = #ark.fragment<%{acc}>>]>>' --ark-expand-attention --ark-flash-attention

// RUN: %{compile} | FileCheck %s --check-prefix=SAME
// SAME: func.func private @body_attention(
// SAME: nvvm.mma.sync

// REDEFINE: %{acc} = outer = [2, 1], threads = [4, 8], strides = [8, 1], elements = [2, 1]
// RUN: %{compile} | FileCheck %s --check-prefix=OTHER
// OTHER: func.func private @body_attention(
// OTHER: linalg.
// OTHER-NOT: nvvm.mma.sync

ark.program @attention(
    %q: tensor<1x8x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x128x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x2x128x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x8x1x64xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 : (tensor<1x8x1x64xbf16>, tensor<1x2x128x64xbf16>, tensor<1x2x128x64xbf16>) -> tensor<1x8x1x64xbf16>
  ark.return %0 : tensor<1x8x1x64xbf16>
}
