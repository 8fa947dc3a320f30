// RUN: ark-opt %s --split-input-file --ark-build-gpu-module --verify-diagnostics -o /dev/null

// expected-error @below {{'ark.kernel' op has no target, or no function '@ark_kernel'}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// expected-error @below {{'ark.kernel' op has no target, or no function '@ark_kernel'}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// expected-error @below {{'ark.kernel' op is for cpu, which is not a GPU}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// expected-error @below {{'func.func' op has type '(!llvm.ptr) -> i32', and the kernel calls it as '(!llvm.ptr, i64) -> i32'}}
func.func @ark_kernel(%context: !llvm.ptr) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
// expected-error @below {{'func.func' op has type '(!llvm.ptr, i64) -> ()', and the kernel calls it as '(!llvm.ptr, i64) -> i32'}}
func.func private @ark_resident_loop(%context: !llvm.ptr, %lane: i64)
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
// expected-error @below {{'func.func' op has type '() -> ()', and the kernel calls it as '() -> i64'}}
func.func private @ark_lane()
}
