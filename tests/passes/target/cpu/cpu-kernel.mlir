// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/cpu/CpuKernel.mlir | FileCheck %s

// Entry, doorbell and dispatch of a lane on a CPU.
// CHECK-LABEL: func.func @ark_kernel(
// CHECK: llvm.getelementptr %{{.+}}[13]
// CHECK: llvm.getelementptr %{{.+}}[8]
// CHECK-LABEL: func.func private @ark_iterate(
// CHECK: arith.constant 3 : i64
// CHECK: arith.constant 4 : i64
// CHECK: cf.switch %{{.+}} : i32, [
// CHECK-NEXT: default:
// CHECK-NEXT: 0:
// CHECK-NEXT: 1:
// CHECK-NEXT: 2:
// CHECK-NEXT: 3:
// CHECK-NEXT: 5:
// CHECK-NEXT: ]
// CHECK-LABEL: func.func private @ark_report_index(
// CHECK: llvm.cmpxchg %{{.+}}, %{{.+}}, %{{.+}} acq_rel monotonic
