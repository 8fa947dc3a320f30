// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/cpu/CpuSemaphores.mlir | FileCheck %s

// A counter has a cache line of its own. A signal releases, a wait acquires.
// CHECK-LABEL: func.func private @ark_counter(
// CHECK: arith.constant 8 : i64
// CHECK: llvm.getelementptr %{{.+}}[5]
// CHECK-LABEL: func.func private @ark_signal(
// CHECK: llvm.atomicrmw add %{{.+}}, %{{.+}} release
// CHECK-LABEL: func.func private @ark_missing(
// CHECK: llvm.load %{{.+}} atomic acquire
// CHECK-LABEL: func.func private @ark_report_hang(
// CHECK: llvm.cmpxchg %{{.+}}, %{{.+}}, %{{.+}} acq_rel monotonic
