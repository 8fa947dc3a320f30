// Warps of 64 threads, as AMD GPUs have.
// RUN: ark-opt %s '--ark-split-reductions=threads=128 warp-size=64' | FileCheck %s
// RUN: ark-opt %s '--ark-split-reductions=threads=64 warp-size=64' | FileCheck %s --check-prefix=ALONE

// Each of two warps has a part of the reduction.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<2x4x16xf32>
// ALONE-LABEL: func.func private @body(
// ALONE: memref.alloca() {alignment = 64 : i64} : memref<1x4x16xf32>
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %p: memref<4x?xf32>, %v: memref<?x16xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %p[%i, %k] : memref<4x?xf32>
      %b = memref.load %v[%k, %j] : memref<?x16xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %scaled = arith.mulf %sum, %sum : f32
    memref.store %scaled, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}
