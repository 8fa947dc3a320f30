// RUN: ark-opt %s --split-input-file --ark-build-kernel --verify-diagnostics -o /dev/null

// expected-error @below {{has no function for body {function = @body, operands = 0 : i64}}}
ark.kernel @bodyThatIsNotThere {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// -----

// expected-error @below {{has no function for body {function = @body, operands = 0 : i64}}}
ark.kernel @bodyWithoutARange {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(index)

// -----

// The names of the kernel's own functions are reserved.
ark.kernel @nameIsTaken {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// expected-error @below {{has the name of a function of the kernel, '@ark_wait'}}
func.func @ark_wait() {
  return
}

// -----

// expected-error @below {{has no function for body {function = @body, operands = 1 : i64}}}
ark.kernel @bodyThatTakesANumber {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(index, index, index, memref<4xi64>, f32)

// -----

// expected-error @below {{has no function for body {function = @body, operands = 1 : i64}}}
ark.kernel @bodyThatTakesAnyShape {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(index, index, index, memref<4xi64>, memref<?xf32>)

// -----

// expected-error @below {{has no function for body {function = @body, operands = 1 : i64}}}
ark.kernel @bodyWithAnyOffset {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(index, index, index, memref<4xi64>, memref<4xf32, strided<[1], offset: ?>>)

// -----

// expected-error @below {{has no function for body {function = @body, operands = 1 : i64}}}
ark.kernel @bodyOfNoTask {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(i64, i64, i64, memref<4xi64>)

// -----

// expected-error @below {{has no function for body {function = @body, operands = 1 : i64}}}
ark.kernel @bodyThatReturns {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(index, index, index, memref<4xi64>) -> i32

// -----

// tf32 has no type in LLVM.
// expected-error @below {{has no function for body {function = @body, operands = 1 : i64}}}
ark.kernel @bodyWithElementsThatLLVMLacks {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(index, index, index, memref<4xi64>, memref<4xtf32>)
