// RUN: ark-opt %s --ark-verify-kernel | FileCheck %s

// The packets end at the last word of the arena.
// CHECK-LABEL: ark.kernel @packets
ark.kernel @packets {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 8], [0, 56]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}
