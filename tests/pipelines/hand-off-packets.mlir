// Two blocks of a decoder with one row: the results of their products go to all SMs at once.
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=synchronization | FileCheck %s
// RUN: ark-opt %s '--ark-compile=target=cuda:sm_90a to=synchronization packets=true' | FileCheck %s
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | FileCheck %s --check-prefix=KERNEL
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=target | FileCheck %s --check-prefixes=TARGET,RINGS
// sm_80 has packets, but no rings.
// RUN: ark-opt %s --ark-target=cuda:sm_80 --ark-packets --ark-compile-to=target | FileCheck %s --check-prefix=TARGET

// Without the option, and on other targets, there are no packets.
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-compile-to=synchronization | FileCheck %s --check-prefix=OFF
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-compile-to=target | FileCheck %s --check-prefix=OFF
// RUN: ark-opt %s --ark-target=cpu:2 --ark-packets --ark-compile-to=synchronization | FileCheck %s --check-prefix=OFF

// Only residuals stay in the arena, and their tiles stay on one SM: lanes meet only at the end.
// CHECK: ark.packets : memref<{{[0-9]+}}xi8>
// CHECK: ark.task "rmsnorm+matmul+matmul_2"
// CHECK: ark.epoch : i32
// CHECK: ark.task "matmul_3"
// CHECK: ark.receive_packets %{{.+}} : memref<1x512xi32, {{.+}}> to memref<1x512xbf16>
// CHECK: ark.task "rmsnorm_2+matmul_4+matmul_5"
// CHECK: ark.receive_packets
// CHECK: ark.task "matmul_6"
// CHECK: ark.receive_packets
// CHECK: ark.schedule
// CHECK-NEXT: ark.semaphore @end
// CHECK-NOT: ark.semaphore
// CHECK-NOT: ark.wait
// CHECK: ark.return

// KERNEL: ark.kernel
// KERNEL-SAME: packets = {{[0-9]+}} : i64
// KERNEL: {ark.packets, {{.*}}llvm.align
// KERNEL: ark.epoch
// KERNEL: ark.receive_packets

// Shared memory is one global, whose size the kernel states.
// TARGET: llvm.mlir.global external @ark_shared_memory() {addr_space = 3
// TARGET-NOT: addr_space = 3
// TARGET-NOT: ark.epoch
// Arguments keep the attribute `ark.packets`.
// TARGET: llvm.func internal @body_{{[^%]+}}{{.+}} {ark.packets,
// TARGET: llvm.call @ark_packet_epoch
// TARGET: llvm.call @ark_send_packet
// The vCTA that computes a norm receives its row as a whole; other ops poll for single packets.
// TARGET: llvm.call @ark_receive_bf16_512_512
// TARGET: llvm.call @ark_load_packets
// TARGET: llvm.call @ark_receive_bf16_512_512
// A lane that polls also requests chunks of parameters.
// RINGS: llvm.func internal @ark_poll
// RINGS-NEXT: llvm.call @ark_stream_poll
// A work item sends its packets before it requests parameters of the next work items.
// RINGS: llvm.func internal @ark_end_work_item
// RINGS-NEXT: llvm.call @ark_stream_end_work_item
// TARGET: llvm.func internal @ark_begin_iteration
// TARGET-NEXT: llvm.call @ark_packets_iteration
// TARGET: llvm.func internal @ark_begin_work_item
// TARGET-NEXT: llvm.call @ark_packets_begin_work_item
// TARGET: llvm.func internal @ark_receive_bf16_512_512

// OFF-NOT: ark.packets
// OFF-NOT: ark.receive_packets
// OFF-NOT: packets =
// OFF-NOT: call @ark_receive
// OFF-NOT: call @ark_packets_begin
ark.program @block(
    %arg0: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %arg1: tensor<512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g0"},
    %arg2: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "gate0"},
    %arg3: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "up0"},
    %arg4: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "down0"},
    %arg5: tensor<512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g1"},
    %arg6: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "gate1"},
    %arg7: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "up1"},
    %arg8: tensor<512x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "down1"}) -> (tensor<1x512xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %arg0 weight %arg1 eps = 1.000000e-05 : (tensor<1x512xbf16>, tensor<512xbf16>) -> tensor<1x512xbf16>
  %1 = ark.matmul %0, %arg2 {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %2 = ark.silu %1 : (tensor<1x512xbf16>) -> tensor<1x512xbf16>
  %3 = ark.matmul %0, %arg3 {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %4 = ark.mul %2, %3 : (tensor<1x512xbf16>, tensor<1x512xbf16>) -> tensor<1x512xbf16>
  %5 = ark.matmul %4, %arg4 {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %6 = ark.add %5, %arg0 : (tensor<1x512xbf16>, tensor<1x512xbf16>) -> tensor<1x512xbf16>
  %7 = ark.rmsnorm %6 weight %arg5 eps = 1.000000e-05 : (tensor<1x512xbf16>, tensor<512xbf16>) -> tensor<1x512xbf16>
  %8 = ark.matmul %7, %arg6 {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %9 = ark.silu %8 : (tensor<1x512xbf16>) -> tensor<1x512xbf16>
  %10 = ark.matmul %7, %arg7 {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %11 = ark.mul %9, %10 : (tensor<1x512xbf16>, tensor<1x512xbf16>) -> tensor<1x512xbf16>
  %12 = ark.matmul %11, %arg8 {transpose_other} : (tensor<1x512xbf16>, tensor<512x512xbf16>) -> tensor<1x512xbf16>
  %13 = ark.add %12, %6 : (tensor<1x512xbf16>, tensor<1x512xbf16>) -> tensor<1x512xbf16>
  ark.return %13 : tensor<1x512xbf16>
}
