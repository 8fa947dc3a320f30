// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../passes/kernel/KernelTables.mlir | FileCheck %s

// Entries of tasks and operands have two fields.
// CHECK-LABEL: func.func private @ark_task(
// CHECK: arith.constant 2 : i64
// CHECK: llvm.getelementptr %{{.+}}[3]
// CHECK-LABEL: func.func private @ark_operand(
// CHECK: arith.constant 2 : i64
// CHECK: llvm.getelementptr %{{.+}}[4]
// CHECK: llvm.getelementptr %{{.+}}[1]
