// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../passes/kernel/LocalRanks.mlir | FileCheck %s

// Field A of a signal is the index of the counter.
// CHECK-LABEL: func.func private @ark_signal_index(
// CHECK-SAME: %[[A:.+]]: i64, %{{.+}}: i32)
// CHECK-NEXT: return %[[A]]
// Lanes of one GPU need the scope of one GPU only.
// CHECK-LABEL: func.func private @ark_add_arrival(
// CHECK: call @ark_add_release
// CHECK-LABEL: func.func private @ark_load_arrivals(
// CHECK: call @ark_load_acquire
// CHECK-LABEL: func.func private @ark_load_stop(
// CHECK: llvm.getelementptr %{{.+}}[6]
// CHECK-NEXT: call @ark_load_relaxed
