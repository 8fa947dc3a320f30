// RUN: ark-opt %s --split-input-file --ark-set-linkage --verify-diagnostics

// expected-error @below {{has no LLVM function '@ark_kernel' for its entry}}
ark.kernel @noEntry {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// -----

// expected-error @below {{has no LLVM function '@ark_kernel' for its entry}}
ark.kernel @entryThatIsOnlyDeclared {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel()

// -----

// expected-error @below {{has no LLVM function '@body_relu' for its body 1}}
ark.kernel @noBody {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, buffers = [], tasks = [],
    bodies = [{function = @body_copy, operands = 0 : i64}, {function = @body_relu, operands = 0 : i64}],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel() {
  llvm.return
}
llvm.func @body_copy() {
  llvm.return
}

// -----

// expected-error @below {{has no LLVM function for its body 0}}
ark.kernel @bodyWithoutAName {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel() {
  llvm.return
}
