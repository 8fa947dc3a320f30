// RUN: ark-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{table 'operands' is 'tensor<2xi64>', not a dense tensor<?x2xi64> (kernel_c1)}}
ark.kernel @tableOfRankOne {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<0> : tensor<2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{table 'operands' is 'tensor<1x3xi64>', not a dense tensor<?x2xi64> (kernel_c1)}}
ark.kernel @tableWithAThirdColumn {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<0> : tensor<1x3xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{table 'operands' is 'tensor<1x2xi32>', not a dense tensor<?x2xi64> (kernel_c1)}}
ark.kernel @tableOfNarrowIntegers {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<0> : tensor<1x2xi32>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{table 'task_table' is 'tensor<1x2xi64>', not a dense tensor<?x2xi32> (kernel_c1)}}
ark.kernel @shapeOfTaskTable {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<0> : tensor<1x2xi64>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{table 'instructions' is 'tensor<1x3xi32>', not a dense tensor<?x4xi32> (kernel_c1)}}
ark.kernel @shapeOfInstructions {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<0> : tensor<1x3xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{table 'lanes' is 'tensor<1x2xi32>', not a dense tensor<?x3xi32> (kernel_c1)}}
ark.kernel @shapeOfLanes {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<0> : tensor<1x2xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{table 'timeline' is 'tensor<1x2xi32>', not a dense tensor<?x2xi64> (kernel_c1)}}
ark.kernel @shapeOfTimeline {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi32>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{table 'timeline' is 'tensor<1x2xi64>', not a dense tensor<?x2xi64> (kernel_c1)}}
ark.kernel @sparseTable {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = sparse<[[0, 0]], [1]> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// The type of the splat promises more elements than a reader could process.
// expected-error @below {{table 'instructions' has 1099511627776 entries; a table has 0 to 16777216 (kernel_c1)}}
ark.kernel @hugeSplat {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<0> : tensor<1099511627776x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{has 1 tasks, but 2 entries in 'task_table' (kernel_c3)}}
ark.kernel @rowOfEveryTask {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<0> : tensor<2x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{describes bodies, buffers, tasks and semaphores by dictionaries only (kernel_c2)}}
ark.kernel @buffersAreDictionaries {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = ["x"], tasks = [{name = "t", vctas = 4 : i64}],
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

// expected-error @below {{describes bodies, buffers, tasks and semaphores by dictionaries only (kernel_c2)}}
ark.kernel @tasksAreDictionaries {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = ["x"],
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

// expected-error @below {{describes bodies, buffers, tasks and semaphores by dictionaries only (kernel_c2)}}
ark.kernel @semaphoresAreDictionaries {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = ["x"], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{describes bodies, buffers, tasks and semaphores by dictionaries only (kernel_c2)}}
ark.kernel @bodyIsNoDictionary {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [@body],
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

// expected-error @below {{task 0 has no body 1 (kernel_c3)}}
ark.kernel @taskWithUnknownBody {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[1, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{task 0 has no body -1 (kernel_c3)}}
ark.kernel @taskWithNegativeBody {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[-1, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{task 0 has operands outside of the table (kernel_c3)}}
ark.kernel @operandsBeyondTheTable {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 1]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{task 0 has operands outside of the table (kernel_c3)}}
ark.kernel @operandsBeforeTheTable {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, -1]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}
func.func @ark_kernel() {
  return
}
func.func private @body(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4xf32>) {
  return
}

// -----

// expected-error @below {{lane 0 has instructions -1 to 1 of 1 (kernel_c4)}}
ark.kernel @laneBeforeTheTable {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, -1, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}

// -----

// expected-error @below {{lane 0 has instructions 0 to 2 of 1 (kernel_c4)}}
ark.kernel @laneBehindTheTable {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 2]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}

// -----

// expected-error @below {{lane 0 has instructions 1 to 0 of 1 (kernel_c4)}}
ark.kernel @laneThatEndsBeforeItBegins {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 0, 4]]> : tensor<1x4xi32>, lanes = dense<[[0, 1, 0]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 1, 0, 1] (kernel_c5)}}
ark.kernel @runOfNoTask {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 1, 0, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}

// -----

// expected-error @below {{instruction 0 is not valid: [0, -1, 0, 1] (kernel_c5)}}
ark.kernel @runOfANegativeTask {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, -1, 0, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 0, -1, 1] (kernel_c5)}}
ark.kernel @runBeforeTheFirstVcta {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, -1, 1]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}

// -----

// expected-error @below {{instruction 0 is not valid: [0, 0, 3, 2] (kernel_c5)}}
ark.kernel @runThatEndsBeforeItBegins {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [{name = "x"}], tasks = [{name = "t", vctas = 4 : i64}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[0, 0, 3, 2]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>,
    semaphores = [{name = "s"}], timeline = dense<0> : tensor<1x2xi64>}

// -----

// expected-error @below {{body @body has 65537 operands; a body has 0 to 65536 (kernel_c6)}}
ark.kernel @bodyWithTooManyOperands {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 65537 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// -----

// expected-error @below {{body @body has -1 operands; a body has 0 to 65536 (kernel_c6)}}
ark.kernel @bodyWithANegativeNumberOfOperands {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = -1 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
