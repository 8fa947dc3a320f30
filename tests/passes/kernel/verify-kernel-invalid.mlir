// RUN: ark-opt %s --split-input-file --ark-verify-kernel --verify-diagnostics -o /dev/null

// expected-error @below {{has 2 entries in 'timeline', but 1 in 'instructions'}}
ark.kernel @timeOfEveryInstruction {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no entry function '@ark_kernel'}}
ark.kernel @noEntry {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @other() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no entry function '@ark_kernel'}}
ark.kernel @entryWithoutABody {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func private @ark_kernel()
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no function for body {operands = 1 : i64}}}
ark.kernel @bodyWithoutAName {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no function for body {function = @body}}}
ark.kernel @bodyWithoutACount {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no function for body {function = @other, operands = 1 : i64}}}
ark.kernel @unknownBody {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @other, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no function for body {function = @body, operands = 2 : i64}}}
ark.kernel @bodyWithOtherOperands {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0], [1, 0]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no function for body {function = @body, operands = 1 : i64}}}
ark.kernel @bodyThatIsOnlyDeclared {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(index, index, index, memref<4xi64>, memref<4xf32>)

// -----

// expected-error @below {{operand 0 is outside of the 2 buffers}}
ark.kernel @unknownSlot {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[2, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{operand 0 is outside of the 2 buffers}}
ark.kernel @negativeSlot {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[-1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{operand 0 is outside of the 2 buffers}}
ark.kernel @negativeOffset {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, -4]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [6, 0, 0, 0]}}
ark.kernel @unknownOpcode {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[6, 0, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [5, 1, 0, 0]}}
ark.kernel @stopByAnInput {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [],
    buffers = [{name = "x", kind = "input", bytes = 4 : i64}], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<[[5, 1, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [5, 1, 0, 0]}}
ark.kernel @stopByALargeState {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [],
    buffers = [{name = "x", kind = "state", bytes = 8 : i64}], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<[[5, 1, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [5, 0, 0, 0]}}
ark.kernel @stopByTheArena {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [],
    buffers = [{name = "x", kind = "state", bytes = 4 : i64}], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<[[5, 0, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [5, 2, 0, 0]}}
ark.kernel @stopBySomethingUnknown {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [],
    buffers = [{name = "x", kind = "state", bytes = 4 : i64}], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<[[5, 2, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [5, 1, 1, 0]}}
ark.kernel @stopWithAnUnusedField {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [],
    buffers = [{name = "x", kind = "state", bytes = 4 : i64}], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<[[5, 1, 1, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [-1, 0, 0, 0]}}
ark.kernel @negativeOpcode {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[-1, 0, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 1, 0, 1]}}
ark.kernel @runOfAnUnknownTask {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 1, 0, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [0, -1, 0, 1]}}
ark.kernel @runOfANegativeTask {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, -1, 0, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 0, 1, 1]}}
ark.kernel @runOfNothing {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 1, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 0, -1, 1]}}
ark.kernel @runBeforeTheGrid {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, -1, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 0, 0, 5]}}
ark.kernel @runBeyondTheGrid {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 5]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [4, 0, 4, 5]}}
ark.kernel @prefetchBeyondTheGrid {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[4, 0, 4, 5]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [1, 1, 0, 0]}}
ark.kernel @signalOfAnUnknownSemaphore {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[1, 1, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [1, 0, 1, 0]}}
ark.kernel @signalWithArrivals {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[1, 0, 1, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [2, 0, 0, 0]}}
ark.kernel @waitForNothing {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[2, 0, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [2, 1, 1, 0]}}
ark.kernel @waitForAnUnknownSemaphore {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[2, 1, 1, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [2, 0, 1, 1]}}
ark.kernel @waitWithAThirdField {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[2, 0, 1, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [3, 0, 0, 0]}}
ark.kernel @barrierForNothing {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[3, 0, 0, 0]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// The message states the number of an instruction, not of a field of the table.
// expected-error @below {{instruction 1 is not valid: [0, 0, 2, 2]}}
ark.kernel @secondInstruction {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 2], [0, 0, 2, 2]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 0, 0, 4]}}
ark.kernel @taskWithoutVCTAs {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t"}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{lane 0 is on SM 1 of 1}}
ark.kernel @laneOnAnUnknownSM {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[1, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{lane 0 is on SM -1 of 1}}
ark.kernel @laneOnANegativeSM {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[-1, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{lane 1 does not begin where the lane before it ends}}
ark.kernel @lanesThatOverlap {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1], [0, 0, 1]]> : tensor<2x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{lane 0 does not begin where the lane before it ends}}
ark.kernel @laneAfterAGap {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 1, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{lane 1 has instructions 1 to 0 of 1 (kernel_c4)}}
ark.kernel @laneThatEndsBeforeItBegins {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1], [0, 1, 0]]> : tensor<2x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has instructions that belong to no lane}}
ark.kernel @instructionOfNoLane {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has no function for body {function = @body, operands = 0 : i64}}}
ark.kernel @rangeOfAnotherType {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 0 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<0> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: i64, %e: index, %t: index, %s: memref<4xi64>) {
  return
}

// -----

// expected-error @below {{has no function for body {function = @body, operands = 0 : i64}}}
ark.kernel @shortRecordOfErrors {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 0 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<0> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<2xi64>) {
  return
}

// -----

// expected-error @below {{has no function for body {function = @body, operands = 0 : i64}}}
ark.kernel @bodyWithAResult {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 0 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<0> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>) -> index {
  return %b : index
}

// -----

// expected-error @below {{operand 0 of task 0 takes 16 bytes at offset 4 of a buffer of 16}}
ark.kernel @operandPastItsBuffer {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 4]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{operand 0 of task 0 takes 16 bytes at offset 64 of a buffer of 64}}
ark.kernel @operandPastTheArena {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
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

// expected-error @below {{operand 0 of task 0 takes 16 bytes at offset 9223372036854775807 of a buffer of 16}}
ark.kernel @operandFarOutside {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 9223372036854775807]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{operand 0 of task 0 takes 52 bytes at offset 0 of a buffer of 48}}
ark.kernel @stridesReachFurther {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 48 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<2x5xf32, strided<[8, 1]>>) {
  return
}

// -----

// expected-error @below {{operand 0 of task 0 takes 0 bytes at offset 17 of a buffer of 16}}
ark.kernel @emptyOperandPastItsBuffer {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 17]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<0xf32>) {
  return
}

// -----

// expected-error @below {{body "body" takes 'memref<?xf32>', which is not a buffer of at most 2^47 bytes with a static layout at offset 0}}
ark.kernel @operandOfDynamicShape {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<?xf32>) {
  return
}

// -----

// expected-error @below {{body "body" takes 'memref<4611686018427387904xf32>', which is not a buffer of at most 2^47 bytes with a static layout at offset 0}}
ark.kernel @operandOfTooManyBytes {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4611686018427387904xf32>) {
  return
}

// -----

// expected-error @below {{which is not a buffer of at most 2^47 bytes with a static layout at offset 0}}
ark.kernel @operandWithAnOffset {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32, strided<[1], offset: 4>>) {
  return
}

// -----

// expected-error @below {{body "body" takes 'index', which is not a buffer of at most 2^47 bytes with a static layout at offset 0}}
ark.kernel @operandThatIsNoBuffer {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: index) {
  return
}

// -----

// expected-error @below {{buffer 0 has no size in bytes}}
ark.kernel @bufferWithoutASize {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{buffer 0 has no size in bytes}}
ark.kernel @bufferOfNegativeSize {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = -1 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has an arena of -64 bytes}}
ark.kernel @negativeArena {
    entry = @ark_kernel, sms = 2 : i64, arena = -64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{task 0 has -1 vCTAs}}
ark.kernel @negativeNumberOfVCTAs {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = -1 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{task 0 is described with body 1 and runs body 0}}
ark.kernel @anotherBodyThanDescribed {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64, body = 1 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{runs vCTA 0 of task 0 never}}
ark.kernel @firstVCTANever {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 1, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{runs vCTA 1 of task 0 never}}
ark.kernel @vctaInBetweenNever {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 2, 4], [0, 0, 0, 1]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{runs vCTA 3 of task 0 never}}
ark.kernel @lastVCTANever {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 3]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{runs vCTA 0 of task 0 never}}
ark.kernel @taskNever {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[4, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{runs vCTA 2 of task 0 twice}}
ark.kernel @vctaTwice {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 3], [0, 0, 2, 4]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{runs vCTA 0 of task 0 twice}}
ark.kernel @runTwice {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [0, 0, 0, 4]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{runs vCTA 1 of task 0 twice}}
ark.kernel @runInsideAnother {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [0, 0, 1, 2]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 2 waits for 2 arrivals of semaphore 0, which is signalled 1 times}}
ark.kernel @waitForMoreArrivals {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 0], [2, 0, 2, 0]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 3 waits for 1 arrivals of semaphore 0, which is signalled 2 times}}
ark.kernel @waitForFewerArrivals {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [1, 0, 0, 0], [1, 0, 0, 0], [2, 0, 1, 0]]> : tensor<4x4xi32>, lanes = dense<[[0, 0, 4]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<4x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 1 waits for 1 arrivals of semaphore 1, which is signalled 0 times}}
ark.kernel @waitForASignalThatNeverComes {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [2, 1, 1, 0], [1, 0, 0, 0]]> : tensor<3x4xi32>, lanes = dense<[[0, 0, 3]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}, {name = "t"}], timeline = dense<0> : tensor<3x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 1 waits for 2 arrivals of semaphore 0, which is signalled 1 times}}
ark.kernel @barrierForMoreThanThereAre {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [3, 0, 2, 0]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{semaphore 0 declares 2 arrivals and is signalled 1 times}}
ark.kernel @semaphoreDeclaresMore {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4], [3, 0, 1, 0]]> : tensor<2x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [{name = "s", arrivals = 2 : i64}], timeline = dense<0> : tensor<2x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{instruction 0 has a negative time}}
ark.kernel @negativeTime {
    entry = @ark_kernel, sms = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x", bytes = 16 : i64}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<[[0, -1]]> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

ark.kernel @first {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
// expected-error @below {{is the second kernel of its module}}
ark.kernel @second {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{does not belong to the output of the kernel stage}}
ark.program @programIsStillThere(%x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

func.func private @checkIsStillThere(%i: index, %n: index) -> index {
  // expected-error @below {{does not belong to the output of the kernel stage}}
  %0 = ark.check_index %i below %n
  return %0 : index
}
