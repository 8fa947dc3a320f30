// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../passes/kernel/GpuSemaphores.mlir | FileCheck %s

// Only the leader signals, after the barrier of its CTA.
// CHECK-LABEL: func.func private @ark_counter(
// CHECK: arith.constant 8 : i64
// CHECK: llvm.getelementptr %{{.+}}[5]
// CHECK-LABEL: func.func private @ark_signal(
// CHECK: call @ark_cta_barrier
// CHECK: call @ark_is_leader
// CHECK: call @ark_add_arrival
// CHECK-LABEL: func.func private @ark_wait(
// CHECK: call @ark_load_arrivals
// CHECK: call @ark_any
// CHECK-LABEL: func.func private @ark_report_hang(
// CHECK: call @ark_set_if_zero
