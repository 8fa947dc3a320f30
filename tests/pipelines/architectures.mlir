// The architecture decides which instructions multiply, how operands are copied, and whether parameters are streamed.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_80 --ark-packets --ark-compile-to=target | FileCheck %s --check-prefixes=DECODE,LOADS,PRODUCT,STAGES -DARCH=sm_80 -DPTX=80
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_86 --ark-packets --ark-compile-to=target | FileCheck %s --check-prefixes=DECODE,LOADS,PRODUCT,STAGES -DARCH=sm_86 -DPTX=80
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_89 --ark-packets --ark-compile-to=target | FileCheck %s --check-prefixes=DECODE,LOADS,PRODUCT,STAGES -DARCH=sm_89 -DPTX=81
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=target | FileCheck %s --check-prefixes=DECODE,RINGS,PRODUCT,BOXES -DARCH=sm_90a -DPTX=86
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_100a --ark-packets --ark-compile-to=target | FileCheck %s --check-prefixes=DECODE,RINGS,PRODUCT,STAGES -DARCH=sm_100a -DPTX=87

// A program of one row has packets and attention on tensor cores on all architectures, and rings from sm_90 on.
// DECODE: ark.kernel @decode
// DECODE-SAME: packets = {{[0-9]+}} : i64
// DECODE: gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "[[ARCH]]", features = "+ptx[[PTX]]">]
// RINGS: llvm.mlir.global internal constant @ark_stream_segment_table
// LOADS-NOT: @ark_stream_segment_table
// DECODE: llvm.func internal @body_rmsnorm_matmul(
// LOADS-NOT: @body_rmsnorm_matmul_stream
// RINGS: llvm.call @body_rmsnorm_matmul_stream(
// DECODE: llvm.call @ark_send_packet(
// DECODE: llvm.func internal @body_{{(partial_)?}}attention(
// DECODE: llvm.call @ark_receive_
// DECODE: nvvm.mma.sync {{.+}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
// DECODE: llvm.call @ark_send_{{(wide_)?}}packet(
// DECODE: llvm.func internal @body_matmul(
// DECODE: llvm.call @ark_receive_
// LOADS-NOT: @body_matmul_stream
// RINGS: llvm.call @body_matmul_stream(
// LOADS: vector<8xbf16>
// DECODE: llvm.func internal @ark_packets_begin(
ark.program @decode(
    %x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %k: tensor<1x2x64x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %c: tensor<1x2x64x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "c"}) -> (tensor<1x512xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<1x512xbf16>, tensor<512xbf16>) -> tensor<1x512xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %2 = ark.reshape %1 shape = [1, 8, 1, 64] : (tensor<1x512xbf16>) -> tensor<1x8x1x64xbf16>
  %3 = ark.attention %2, %k, %c scale = 1.250000e-01 : (tensor<1x8x1x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) -> tensor<1x8x1x64xbf16>
  %4 = ark.reshape %3 shape = [1, 512] : (tensor<1x8x1x64xbf16>) -> tensor<1x512xbf16>
  %5 = ark.matmul %4, %v {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  ark.return %5 : tensor<1x512xbf16>
}

// -----

// A large product with a tile for each lane has warpgroups and TMA copies on sm_90a. On all other architectures it
// has cp.async and stages, which also fit into 99 KiB of shared memory.
// PRODUCT: ark.kernel @product
// PRODUCT-NOT: packets =
// PRODUCT: gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "[[ARCH]]"
// PRODUCT: llvm.func internal @body_matmul(
// STAGES: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache = cg
// STAGES-NOT: wgmma
// STAGES: nvvm.mma.sync {{.+}} shape = #nvvm.shape<m = 16, n = 8, k = 16>
// BOXES-NOT: nvvm.mma.sync
// BOXES: cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier
// BOXES: wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16
// BOXES-NOT: nvvm.mma.sync
// PRODUCT: llvm.func internal @ark_packets_begin(
ark.program @product(
    %x: tensor<1024x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1024x4096xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1024x512xbf16>, tensor<4096x512xbf16>) -> tensor<1024x4096xbf16>
  ark.return %0 : tensor<1024x4096xbf16>
}
