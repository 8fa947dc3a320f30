// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/weight_streaming/CudaRing.mlir | FileCheck %s

// 16 warps read chunks in round-robin order, and each has a state of 16 words.
// CHECK-LABEL: func.func private @ark_stream_field(
// CHECK: arith.constant 16 : i32
// CHECK-LABEL: func.func private @ark_stream_segment(
// CHECK: arith.constant 15 : i32
// CHECK: arith.constant 32 : i64
// CHECK: arith.constant 48 : i64
// CHECK: arith.constant 65535 : i32
// CHECK-LABEL: func.func private @ark_stream_copy(
// CHECK: nvvm.mbarrier.arrive.expect_tx
// CHECK-NEXT: nvvm.cp.async.bulk.shared.cluster.global
