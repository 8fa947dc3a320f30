// RUN: ark-opt %s --split-input-file --ark-verify-kernel --verify-diagnostics | FileCheck %s

// The pass does not change a valid kernel.
// CHECK-LABEL: ark.kernel @everyKindOfInstruction
// CHECK-SAME: instructions = dense<{{\[}}[0, 0, 0, 2], [1, 0, 0, 0], [3, 1, 2, 0], [2, 0, 1, 0], [0, 0, 2, 4], [3, 1, 2, 0]]>
ark.kernel @everyKindOfInstruction {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 2], [1, 0, 0, 0], [3, 1, 2, 0], [2, 0, 1, 0], [0, 0, 2, 4], [3, 1, 2, 0]]> : tensor<6x4xi32>, lanes = dense<[[0, 0, 3], [1, 3, 6]]> : tensor<2x3xi32>,
    semaphores = [{name = "s", arrivals = 1 : i64}, {name = "end", arrivals = 2 : i64}], timeline = dense<0> : tensor<6x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// An SM may have no work, and a lane no instructions.
// CHECK-LABEL: ark.kernel @emptyLanes
ark.kernel @emptyLanes {
    entry = @ark_kernel, sms = 4 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 0], [2, 0, 1], [3, 1, 1]]> : tensor<3x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// CHECK-LABEL: ark.kernel @stop
ark.kernel @stop {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [],
    buffers = [{name = "done", kind = "state", bytes = 4 : i64}], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<[[5, 1, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}

// -----

// CHECK-LABEL: ark.kernel @prefetch
ark.kernel @prefetch {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[4, 0, 3, 4], [0, 0, 0, 4]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// Slot 0 is the arena, with or without buffers.
// CHECK-LABEL: ark.kernel @arenaOnly
ark.kernel @arenaOnly {
    entry = @ark_kernel, sms = 1 : i64, arena = 80 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[0, 64]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// An operand may end where its buffer ends, and an operand without elements may begin there.
// CHECK-LABEL: ark.kernel @operandsAtTheEnd
ark.kernel @operandsAtTheEnd {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 3 : i64}],
    buffers = [{name = "x", bytes = 64 : i64}, {name = "y", bytes = 3 : i64}], tasks = [{name = "t", vctas = 1 : i64}],
    operands = dense<[[1, 20], [2, 0], [2, 3]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<2x3xf32, strided<[8, 1]>>, %y: memref<3xi1>, %z: memref<0x4xf32>) {
  return
}

// -----

// Work items of a task may be on any lane and in any order; a task may have no vCTAs.
// CHECK-LABEL: ark.kernel @runsInAnyOrder
ark.kernel @runsInAnyOrder {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 0 : i64}],
    buffers = [], tasks = [{name = "t", vctas = 5 : i64}, {name = "u", vctas = 0 : i64}, {name = "v", vctas = 1 : i64}],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<0> : tensor<3x2xi32>,
    instructions = dense<[[0, 2, 0, 1], [0, 0, 3, 5], [0, 0, 0, 1], [0, 0, 1, 3]]> : tensor<4x4xi32>, lanes = dense<[[0, 0, 2], [1, 2, 4]]> : tensor<2x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<4x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>) {
  return
}

// -----

// The pass ignores modules without a kernel.
// CHECK-LABEL: module @noKernel
module @noKernel {}
