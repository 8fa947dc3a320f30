// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/packets/CpuPackets.mlir | FileCheck %s

// A packet between ranks has the number of the iteration in its upper half.
// CHECK-LABEL: func.func private @ark_wait_packets(
// CHECK: arith.constant 8 : i64
// CHECK: arith.constant 32 : i64
// CHECK: llvm.getelementptr %{{.+}}[4]
// CHECK: llvm.getelementptr %{{.+}}[3]
// CHECK: call @ark_missing
// CHECK-LABEL: func.func private @ark_epoch(
// CHECK: llvm.getelementptr %{{.+}}[4]
