// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/prefetch/CudaPrefetch.mlir | FileCheck %s

// Only a work item has weights to prefetch.
// CHECK-LABEL: func.func private @ark_prefetch_next_work_item(
// CHECK: %[[OPCODE:.+]] = arith.constant 0 : i32
// CHECK: arith.cmpi eq, %{{.+}}, %[[OPCODE]] : i32
// CHECK: vector.extract %{{.+}}[1]
// CHECK: call @ark_prefetch_work_item
