// Warps of 64 threads, as AMD GPUs have.
// RUN: ark-opt %s '--ark-map-to-threads=threads=64 warp-size=64' | FileCheck %s

// The single result is shared by 64 threads, which are one warp: nothing passes
// through shared memory.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: %[[SIZE:.+]] = arith.constant 64 : i32
// CHECK-COUNT-6: gpu.shuffle xor %{{.+}}, %{{.+}}, %[[SIZE]]
// CHECK-NOT: gpu.shuffle
// CHECK-NOT: gpu.barrier
// CHECK: scf.if
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 1 : index
  %cols = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<4x512xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<4xf32>
    scf.reduce
  }
  return
}
