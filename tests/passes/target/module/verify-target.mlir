// RUN: ark-opt %s --split-input-file --ark-verify-target | FileCheck %s

// CHECK: ark.kernel
// CHECK: llvm.func @ark_kernel
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @sinf(f32) -> f32
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func internal @body() {
  llvm.return
}

// -----

// CHECK: ark.kernel
// CHECK: gpu.module
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
  nvvm.barrier0
  %thread = llvm.inline_asm has_side_effects "mov.u32 $0, %tid.x;", "=r" : () -> i32
  llvm.return
}
llvm.func internal @body() {
  llvm.return
}
}
}

// -----

// CHECK: ark.kernel
// CHECK: gpu.module
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  rocdl.barrier
  %thread = rocdl.workitem.id.x : i32
  %same = llvm.inline_asm has_side_effects "", "=v,0,~{memory}" %thread : (i32) -> i32
  llvm.return
}
llvm.func internal @body() {
  llvm.return
}
}
}

// -----

// The pass ignores a module without a kernel.
// CHECK: func.func private @other
func.func private @other()
