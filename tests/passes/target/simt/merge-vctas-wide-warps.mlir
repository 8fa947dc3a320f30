// Warps of 64 threads, as AMD GPUs have.
// RUN: ark-opt %s --ark-merge-vctas=warp-size=64 | FileCheck %s
// RUN: ark-opt %s --ark-merge-vctas=warp-size=32 | FileCheck %s --check-prefix=NARROW

// One result is too much for one warp of 32 threads, but not for a warp of 64.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.for
// CHECK: scf.parallel
// NARROW-LABEL: func.func private @body(
// NARROW: scf.for
// NARROW: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<3072xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 3072 : index
  %zero = arith.constant 0.0 : f32
  scf.for %v = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
      %sum = scf.parallel (%j) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
        %e = memref.load %x[%j] : memref<3072xf32>
        scf.reduce(%e : f32) {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          scf.reduce.return %s : f32
        }
      }
      memref.store %sum, %y[%v] : memref<8xf32>
      scf.reduce
    }
  }
  return
}
