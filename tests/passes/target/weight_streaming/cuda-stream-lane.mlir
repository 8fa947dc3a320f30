// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/weight_streaming/CudaStreamLane.mlir | FileCheck %s

// A lane of 512 threads reads segments of three words. At its end it waits for copies in flight.
// CHECK-LABEL: func.func private @ark_stream_begin(
// CHECK: arith.constant 3 : i64
// CHECK: arith.constant 512 : i64
// CHECK: nvvm.mbarrier.init
// CHECK-LABEL: func.func private @ark_stream_end(
// CHECK: nvvm.mbarrier.try_wait
// CHECK: nvvm.mbarrier.inval
