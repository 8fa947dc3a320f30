// The packets hold results of tensor cores. Each packet is sent by an instruction of its own, even if a
// thread has neighbouring results.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_80 --ark-packets --ark-compile-to=target | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=target | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_100a --ark-packets --ark-compile-to=target | FileCheck %s

// Sixteen queries share their keys and are one block of rows. A thread has four neighbouring columns of it.
// CHECK: ark.kernel @attention
// CHECK: llvm.func internal @body_attention({{.+}} {ark.packets, {{[^,]+}}, llvm.noalias})
// CHECK: nvvm.mma.sync
// CHECK-NOT: llvm.store
// CHECK-COUNT-16: llvm.call @ark_send_packet(%{{.+}}, %{{.+}}) : (!llvm.ptr, i32) -> ()
// CHECK-NOT: llvm.store
// CHECK: llvm.func internal @body_matmul({{.+}}!llvm.ptr {ark.packets,
// CHECK: llvm.call @ark_receive_bf16_1024_1024
ark.program @attention(
    %q: tensor<1x32x1x32xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x16x32xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x2x16x32xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %w: tensor<512x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x512xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.250000e-01 : (tensor<1x32x1x32xbf16>, tensor<1x2x16x32xbf16>, tensor<1x2x16x32xbf16>) -> tensor<1x32x1x32xbf16>
  %1 = ark.reshape %0 shape = [1, 1024] : (tensor<1x32x1x32xbf16>) -> tensor<1x1024xbf16>
  %2 = ark.matmul %1, %w {transpose_other} : (tensor<1x1024xbf16>, tensor<512x1024xbf16>) -> tensor<1x512xbf16>
  ark.return %2 : tensor<1x512xbf16>
}

// -----

// The product has eight rows.
// CHECK: ark.kernel @products
// CHECK: llvm.func internal @body_matmul_silu({{.+}} {ark.packets, {{[^,]+}}, llvm.noalias})
// CHECK: nvvm.mma.sync
// CHECK: llvm.call @ark_send_packet(
// CHECK: llvm.func internal @body_matmul({{.+}}!llvm.ptr {ark.packets,
// CHECK: llvm.call @ark_receive_bf16_2048_2048
// CHECK: nvvm.mma.sync
ark.program @products(
    %x: tensor<8x256xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<256x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %w: tensor<512x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x512xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %v {transpose_other} : (tensor<8x256xbf16>, tensor<256x256xbf16>) -> tensor<8x256xbf16>
  %1 = ark.silu %0 : (tensor<8x256xbf16>) -> tensor<8x256xbf16>
  %2 = ark.matmul %1, %w {transpose_other} : (tensor<8x256xbf16>, tensor<512x256xbf16>) -> tensor<8x512xbf16>
  ark.return %2 : tensor<8x512xbf16>
}
