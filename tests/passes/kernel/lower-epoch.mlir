// RUN: ark-opt %s --split-input-file --ark-lower-epoch | FileCheck %s

// The body reads the epoch once, before the loop.
// CHECK-LABEL: func.func private @body_put(
// CHECK-SAME: %[[STATUS:[^:]+]]: memref<4xi64>, %{{.+}}: memref<4xi32>
// CHECK-NEXT: %[[EPOCH:.+]] = call @ark_epoch(%[[STATUS]]) : (memref<4xi64>) -> i32
// CHECK: scf.for %[[I:.+]] =
// CHECK-NEXT:   memref.store %[[EPOCH]], %{{.+}}[%[[I]]]
// CHECK: func.func private @ark_epoch(memref<4xi64>) -> i32
func.func private @body_put(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<4xi32>) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %0 = ark.epoch : i32
    memref.store %0, %p[%i] : memref<4xi32>
  }
  return
}

// -----

// Hand-offs between ranks on a GPU are counters, so packets need no epoch.
// CHECK-LABEL: func.func private @body_on_gpu(
// CHECK-NEXT: %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-NEXT: return %[[ONE]]
// CHECK-NOT: ark_epoch
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
  func.func private @body_on_gpu(%begin: index, %end: index, %task: index, %status: memref<4xi64>) -> i32 {
    %0 = ark.epoch : i32
    return %0 : i32
  }
}

// -----

// The ops of a body that polls for packets stay: the lowering of the target provides their epoch.
// CHECK-LABEL: func.func private @body(
// CHECK-NEXT: ark.epoch : i32
// CHECK-NOT: ark_epoch(
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) -> i32 {
  %0 = ark.epoch : i32
  return %0 : i32
}
}
