// RUN: ark-opt %s --split-input-file --ark-verify-kernel --verify-diagnostics -o /dev/null

// expected-error @below {{operand 0 of task 0 takes 16 bytes at offset 20 of a buffer of 32}}
ark.kernel @behindThePackets {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[2, 20]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>, packets = 32 : i64}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xi32>) {
  return
}

// -----

// expected-error @below {{operand 0 is outside of the 2 buffers}}
ark.kernel @noPackets {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[2, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xi32>) {
  return
}

// -----

// Code generation would treat the packets as plain words.
ark.kernel @unmarked {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[2, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>, packets = 32 : i64}
func.func @ark_kernel() {
  return
}
// expected-error @below {{argument 4 does not carry 'ark.packets', but its operand is packets}}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xi32>) {
  return
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @marked {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>, packets = 32 : i64}
func.func @ark_kernel() {
  return
}
// expected-error @below {{argument 4 carries 'ark.packets', but its operand is not packets}}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xi32> {ark.packets}) {
  return
}
}

// -----

// A shared body would send the packets of one task and not of the other.
// expected-error @below {{task 1 shares body {function = @body, operands = 1 : i64} with a task that has packets in other operands}}
ark.kernel @both {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}, {name = "u", vctas = 4 : i64}],
    operands = dense<[[2, 0], [1, 0]]> : tensor<2x2xi64>, task_table = dense<[[0, 0], [0, 1]]> : tensor<2x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [0, 1, 0, 4]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<2x2xi64>, packets = 32 : i64}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xi32> {ark.packets}) {
  return
}
