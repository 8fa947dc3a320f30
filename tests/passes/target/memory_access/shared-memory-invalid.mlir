// Temporaries do not fit beside the shared memory that earlier passes have allocated for the kernel.
// RUN: ark-opt %s --split-input-file --ark-place-in-shared-memory --verify-diagnostics -o /dev/null

// 900 bytes end at 1,024, a multiple of 128. The temporary takes the 128 bytes behind them.
// expected-error @below {{a body has 1152 bytes of temporaries; an SM has 1151}}
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1151, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>, shared_memory = 900 : i64,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  %a = memref.alloca() : memref<1xi8>
  return
}
}

// -----

// One more byte of an SM suffices.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1152, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>, shared_memory = 900 : i64,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  %a = memref.alloca() : memref<1xi8>
  return
}
}

// -----

// A temporary with a larger alignment begins at a multiple of it: at 2,048.
// expected-error @below {{a body has 2176 bytes of temporaries; an SM has 2048}}
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 2048, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>, shared_memory = 1025 : i64,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  %a = memref.alloca() {alignment = 1024 : i64} : memref<1xi8>
  return
}
}
