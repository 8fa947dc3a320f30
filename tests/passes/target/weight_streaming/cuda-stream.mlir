// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/weight_streaming/CudaStream.mlir | FileCheck %s

// A warp waits for a chunk, and requests the next chunk of the work item that has begun.
// CHECK-LABEL: func.func private @ark_stream_open(
// CHECK: call @ark_sync_warp
// CHECK-LABEL: func.func private @ark_stream_consumer_wait(
// CHECK: nvvm.mbarrier.try_wait
// CHECK-LABEL: func.func private @ark_stream_consumer_release(
// CHECK: arith.constant 16 : i32
// CHECK: call @ark_stream_copy
