// RUN: ark-opt %s --split-input-file --ark-verify-kernel --verify-diagnostics -o /dev/null

// expected-error @below {{instruction 1 is not valid: [1, 0, 0, 1]}}
ark.kernel @counter {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 8], [0, 56]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "counter"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 1 is not valid: [1, 0, 0, 2]}}
ark.kernel @signalSaysMore {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 8], [0, 56]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 2], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 2 is not valid: [2, 0, 1, 2]}}
ark.kernel @rowsBeyond {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 8], [0, 56]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 2]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 2 is not valid: [2, 0, 2, 1]}}
ark.kernel @moreArrivals {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 8], [0, 56]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 2, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 2 is not valid: [2, 0, 1, 1]}}
ark.kernel @otherBuffer {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [1, 8], [1, 8]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 2 is not valid: [2, 0, 1, 1]}}
ark.kernel @odd {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 4], [0, 56]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 2 is not valid: [2, 0, 1, 1]}}
ark.kernel @backwards {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 16], [0, 8]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// The last packet would end behind the arena.
// expected-error @below {{instruction 2 is not valid: [2, 0, 1, 1]}}
ark.kernel @beyondTheArena {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [0, 8], [0, 64]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// The wait polls for packets that the task stores, but the task is not marked to store packets.
ark.kernel @unmarked {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[0, 8], [0, 8], [0, 56]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 1], [2, 0, 1, 1]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64, handoff = "packet"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
// expected-error @below {{argument 4 does not carry 'ark.packets', but its operand is packets}}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xi64>) {
  return
}
