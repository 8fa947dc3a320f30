// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../passes/kernel/GpuResident.mlir | FileCheck %s

// The doorbell consists of counters in cache lines of their own, words of the host and the number of lanes.
// CHECK-LABEL: func.func private @ark_resident_loop(
// CHECK: llvm.getelementptr %{{.+}}[13]
// CHECK-LABEL: func.func private @ark_notify_start(
// CHECK: llvm.getelementptr %{{.+}}[7]
// CHECK: llvm.store volatile
// CHECK-LABEL: func.func private @ark_await_doorbell(
// CHECK: arith.constant -1 : i64
// CHECK: llvm.getelementptr %arg1[16]
// CHECK-LABEL: func.func private @ark_acknowledge_run(
// CHECK: llvm.getelementptr %arg1[8]
// CHECK: llvm.getelementptr %arg1[17]
