// Warps of 64 threads, as AMD GPUs have, and warps of 16 threads.
// DEFINE: %{kernel} = ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel
// DEFINE: %{before} = ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants
// RUN: %{kernel} | ark-opt --split-input-file --pass-pipeline='builtin.module(%{before},ark-fuse-row-ops{warp-size=64},ark-fuse-row-prologues{warp-size=64})' | FileCheck %s --check-prefix=WIDE
// RUN: %{kernel} | ark-opt --split-input-file --pass-pipeline='builtin.module(%{before},ark-fuse-row-prologues{threads=1024 warp-size=16})' | FileCheck %s --check-prefix=NARROW
// RUN: not ark-opt %s --split-input-file --ark-fuse-row-ops 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: not ark-opt %s --split-input-file --ark-fuse-row-prologues 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: has no GPU as its target: set the attribute 'ark.target', or the option 'warp-size'

// Each of two rows has four of eight warps, with one load per thread. At most 16 warps of 16 threads compute a row,
// because the threads of one warp combine the partial sums of all warps of the row.
// WIDE-LABEL: func.func private @body_rmsnorm_matmul(
// WIDE: scf.forall (%[[THREAD:.+]]) in (512) {
// WIDE: %[[WARP:.+]] = arith.divui %[[THREAD]], %c64
// WIDE: arith.remui %[[THREAD]], %c64
// WIDE: arith.divui %[[WARP]], %c4
// WIDE: %[[WIDTH:.+]] = arith.constant 64 : i32
// WIDE: gpu.shuffle xor %{{.+}}, %{{.+}}, %[[WIDTH]] : f32
// WIDE-COUNT-5: gpu.shuffle xor
// WIDE: memref.store %{{.+}}, %{{.+}}[%[[WARP]]] : memref<8xf32>
// WIDE: gpu.barrier
// WIDE-COUNT-2: gpu.shuffle xor
// WIDE-NOT: gpu.shuffle
// WIDE: return
// NARROW-LABEL: func.func private @body_rmsnorm_matmul(
// NARROW: scf.forall (%[[THREAD:.+]]) in (1024) {
// NARROW: %[[WARP:.+]] = arith.divui %[[THREAD]], %c16
// NARROW: arith.minui %[[WARP]], %c31
// NARROW-COUNT-4: gpu.shuffle xor
// NARROW: memref.store %{{.+}}, %{{.+}}[%[[WARP]]] : memref<64xf32>
// NARROW: gpu.barrier
// NARROW-COUNT-4: gpu.shuffle xor
// NARROW-NOT: gpu.shuffle
// NARROW: return
ark.program @twoRows(%x: tensor<2x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<2048x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<2x2048xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<2x2048xbf16>, tensor<2048xbf16>) -> tensor<2x2048xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<2x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<2x2048xbf16>
  ark.return %1 : tensor<2x2048xbf16>
}

// -----

// The last four of eight warps compute a row each, with one column per thread.
// WIDE-LABEL: func.func private @body_rmsnorm_rmsnorm_rope_rope(
// WIDE: scf.forall (%[[THREAD:.+]]) in (512) {
// WIDE: %[[WARP:.+]] = arith.divui %[[THREAD]], %c64
// WIDE: arith.subi %[[WARP]], %c4
// WIDE-COUNT-6: gpu.shuffle xor
// WIDE-NOT: gpu.shuffle
// WIDE: math.rsqrt
// NARROW-LABEL: func.func private @body_rmsnorm_rmsnorm_rope_rope(
ark.program @heads(%q: tensor<1x8x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %g: tensor<64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %h: tensor<64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "h"},
    %c: tensor<1x32xbf16> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x64xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x1x64xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %q weight %g eps = 1.0e-6 : (tensor<1x8x1x64xbf16>, tensor<64xbf16>) -> tensor<1x8x1x64xbf16>
  %1 = ark.rmsnorm %k weight %h eps = 1.0e-6 : (tensor<1x2x1x64xbf16>, tensor<64xbf16>) -> tensor<1x2x1x64xbf16>
  %2 = ark.rope %0, %c, %c : (tensor<1x8x1x64xbf16>, tensor<1x32xbf16>, tensor<1x32xbf16>) -> tensor<1x8x1x64xbf16>
  %3 = ark.rope %1, %c, %c : (tensor<1x2x1x64xbf16>, tensor<1x32xbf16>, tensor<1x32xbf16>) -> tensor<1x2x1x64xbf16>
  %4 = ark.update %3 into %s [0, 0, %p, 0] : (tensor<1x2x64x64xbf16>, tensor<1x2x1x64xbf16>, tensor<i32>) -> tensor<1x2x64x64xbf16>
  %5 = ark.attention %2, %4, %4 scale = 0.125 : (tensor<1x8x1x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) -> tensor<1x8x1x64xbf16>
  ark.return %5 : tensor<1x8x1x64xbf16>
}
