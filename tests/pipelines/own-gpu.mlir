// A target may state the facts of a GPU that ark does not know. Passes take the
// GPU's abilities from these facts, and none from its name.

// DEFINE: %{facts} = warp_size = 32, features = "+ptx86", scopes = #ark.scopes<device = "gpu", system = "sys">
// DEFINE: %{figures} = sms = 8, warps = 16, shared_memory = 166912, bandwidth = 300, flops = 60000, handoff = 700, barrier = 1200, overhead = 250
// DEFINE: %{mma} = mma = [#ark.mma<kind = mma_sync, m = 16, n = 8, k = 16, lhs = #ark.fragment<outer = [2, 2], threads = [8, 4], strides = [4, 1], elements = [1, 2]>, rhs = #ark.fragment<outer = [2, 1], threads = [4, 8], strides = [1, 4], elements = [2, 1]>, acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>]
// DEFINE: %{more} =
// DEFINE: %{compile} = ark-opt %s --ark-compile-to=target '--ark-target=#ark.target<backend = cuda, arch = "sm_90", %{figures}, gpu = #ark.gpu<%{facts}%{more}>>'

// RUN: %{compile} | FileCheck %s --check-prefix=PLAIN
// PLAIN: gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "sm_90", features = "+ptx86">]
// PLAIN-NOT: {{nvvm.mma.sync|nvvm.wgmma}}

// REDEFINE: %{more} = , %{mma}
// RUN: %{compile} | FileCheck %s --check-prefix=MMA
// MMA-NOT: nvvm.wgmma
// MMA: nvvm.mma.sync
// MMA-NOT: nvvm.wgmma

ark.program @products(
    %x: tensor<2048x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2048x2048xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<2048x512xbf16>, tensor<2048x512xbf16>) -> tensor<2048x2048xbf16>
  ark.return %0 : tensor<2048x2048xbf16>
}
