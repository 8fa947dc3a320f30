// RUN: ark-opt %s --split-input-file --ark-verify-target --verify-diagnostics -o /dev/null

// The store is only for the CTA.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %word = llvm.mlir.constant(7 : i32) : i32
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %word, %p atomic syncscope("workgroup") monotonic {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
}
}

// -----

// The store is not atomic.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %word = llvm.mlir.constant(7 : i32) : i32
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %word, %p {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
}
}

// -----

// Packets need no acquire, which would invalidate the L1 at each poll.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.load %p atomic syncscope("agent") acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return
}
}
}

// -----

// The memory model has no atomic load of 128 bits.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.load %p atomic syncscope("agent") monotonic {alignment = 16 : i64} : !llvm.ptr -> i128
  llvm.return
}
}
}

// -----

// Half a packet has no epoch.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.load %p atomic syncscope("agent") monotonic {alignment = 2 : i64} : !llvm.ptr -> i16
  llvm.return
}
}
}

// -----

// A load that may be unaligned may be divided.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.load %p atomic syncscope("agent") monotonic {alignment = 4 : i64} : !llvm.ptr -> i64
  llvm.return
}
}
}

// -----

// The address of a packet is stored.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %number = llvm.ptrtoint %p : !llvm.ptr to i64
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %number, %x atomic syncscope("agent") monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.return
}
}
}

// -----

// A marked address is the address of a packet.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 4,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @ark_mark_global(%address: !llvm.ptr) -> !llvm.ptr {
  llvm.return %address : !llvm.ptr
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %marked = llvm.call @ark_mark_global(%p) : (!llvm.ptr) -> !llvm.ptr
  // expected-error @below {{uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.load %marked : !llvm.ptr -> i32
  llvm.return
}
}
}
