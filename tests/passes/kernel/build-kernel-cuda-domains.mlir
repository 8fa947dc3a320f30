// RUN: ark-opt %s --split-input-file --ark-build-kernel | FileCheck %s

// Without ark.network, NCCL copies between domains.
// CHECK-LABEL: func.func private @ark_add_remote_arrival
// CHECK: call @ark_signal_rank
// CHECK-LABEL: func.func private @ark_signal_rank
// CHECK: call @ncclGinSignal_v3
// CHECK-NOT: ark_push_trigger
module attributes {ark.domains = array<i64: 0, 1>,
    ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>, ranks = 2 : i64,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}

// -----

// CHECK-LABEL: func.func private @ark_add_remote_arrival
// CHECK: call @ark_signal_rank
// CHECK-NOT: nccl
// CHECK-LABEL: func.func private @ark_push_trigger
// CHECK-LABEL: func.func private @ark_signal_rank
// CHECK: call @ark_push_trigger
// CHECK-NOT: nccl
module attributes {ark.domains = array<i64: 0, 1>, ark.network = "mscclpp",
    ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>, ranks = 2 : i64,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}

// -----

// In one domain, GPUs store to each other's memory.
// CHECK-LABEL: func.func private @ark_add_remote_arrival
// CHECK: "red.release.sys.add.u64 [$0], $1;"
// CHECK-NOT: ark_signal_rank
module attributes {ark.domains = array<i64: 3, 3>, ark.network = "mscclpp",
    ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>, ranks = 2 : i64,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}
