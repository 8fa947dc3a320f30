// RUN: ark-opt %s --split-input-file --ark-build-gpu-module=threads=512 | FileCheck %s

// The tables stay in the outer module; the code moves into the gpu.module.
// CHECK: module attributes {{{.*}}gpu.container_module
// CHECK-NEXT: ark.kernel @k
// CHECK: gpu.module @ark_gpu [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] attributes {llvm.data_layout = "e-p6:32:32-i64:64-{{.*}}"} {
// CHECK: llvm.mlir.global external @ark_shared_memory
// CHECK: func.func private @body(
// CHECK: func.func private @ark_dispatch_loop(%{{.+}}: !llvm.ptr, %{{.+}}: i64) -> i32
// CHECK: gpu.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr) kernel attributes {known_block_size = array<i32: 512, 1, 1>, nvvm.minctasm = 1 : i32} {
// CHECK: %[[BLOCK:.+]] = gpu.block_id x
// CHECK: %[[LANE:.+]] = arith.index_cast %[[BLOCK]] : index to i64
// CHECK: %[[CODE:.+]] = func.call @ark_dispatch_loop(%[[CONTEXT]], %[[LANE]])
// The first thread stores the error code in word 12 of the context.
// CHECK: llvm.getelementptr %[[CONTEXT]][12]
// CHECK: llvm.store %[[CODE]]
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.mlir.global external @ark_shared_memory() {addr_space = 3 : i32} : !llvm.array<0 x i8>
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
}

// -----

// In a resident kernel, lanes call `ark_resident_loop`, which calls the dispatch loop by
// its new name.
// CHECK-LABEL: ark.kernel @stays
// CHECK: func.func private @ark_dispatch_loop(
// CHECK: func.func private @ark_resident_loop(
// CHECK: call @ark_dispatch_loop(
// Code after that call reads the lane number again, if the module has a function for it.
// CHECK: gpu.func @ark_kernel(
// CHECK: %[[CODE:.+]] = func.call @ark_resident_loop(
// CHECK: %[[AGAIN:.+]] = func.call @ark_lane() : () -> i64
// CHECK: %[[ADDRESS:.+]] = llvm.getelementptr %{{.+}}[%[[AGAIN]]]
// CHECK: llvm.store %[[CODE]], %[[ADDRESS]]
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @stays {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
func.func private @ark_lane() -> i64
func.func private @ark_resident_loop(%context: !llvm.ptr, %lane: i64) -> i32 {
  %code = call @ark_kernel(%context, %lane) : (!llvm.ptr, i64) -> i32
  return %code : i32
}
}

// -----

// For AMD GPUs the code object states the size of shared memory, here 256 bytes.
// CHECK-LABEL: ark.kernel @hip
// CHECK: gpu.module @ark_gpu [#rocdl.target<O = 3, chip = "gfx942", abi = "500">] {
// CHECK: llvm.module_flags [#llvm.mlir.module_flag<error, "amdhsa_code_object_version", 500 : i32>]
// CHECK: llvm.mlir.global internal @ark_shared_memory() {addr_space = 3 : i32} : !llvm.array<256 x i8>
// CHECK: func.func private @ark_dispatch_loop({{.*}}) -> i32 attributes {always_inline, convergent, {{.*}}} {
// CHECK: gpu.func @ark_kernel(%{{.+}}: !llvm.ptr) kernel attributes {known_block_size = array<i32: 512, 1, 1>} {
// CHECK-NOT: nvvm
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @hip {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], shared_memory = 256 : i64, timeline = dense<> : tensor<0x2xi64>}
llvm.mlir.global external @ark_shared_memory() {addr_space = 3 : i32} : !llvm.array<0 x i8>
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
}

// -----

// If one body uses warpgroup instructions, it becomes part of the kernel, and
// the other bodies stay functions that are called.
// CHECK-LABEL: ark.kernel @bodies
// CHECK: func.func private @body({{.*}}attributes {{{.*}}passthrough = ["noinline"]
// CHECK: func.func private @warpgroups(
// CHECK-NOT: noinline
// CHECK: gpu.func @ark_kernel(
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @bodies {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64,
    bodies = [{function = @body, operands = 0 : i64}, {function = @warpgroups, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  return
}
func.func private @warpgroups(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  %descriptor = arith.constant 0 : i64
  %sums = llvm.mlir.zero : !llvm.struct<(f32, f32, f32, f32)>
  %more = nvvm.wgmma.mma_async %descriptor, %descriptor, %sums, #nvvm.shape<m = 64, n = 8, k = 16>,
      D [<f32>, #nvvm.wgmma_scale_out<one>], A [<bf16>, #nvvm.wgmma_scale_in<one>, <row>],
      B [<bf16>, #nvvm.wgmma_scale_in<one>, <col>]
      : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  return
}
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
}

// -----

// Without such a body, LLVM may inline all bodies.
// CHECK-LABEL: ark.kernel @plain
// CHECK: func.func private @body(
// CHECK-NOT: noinline
// CHECK: gpu.func @ark_kernel(
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @plain {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  return
}
func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = arith.constant 0 : i32
  return %good : i32
}
}
