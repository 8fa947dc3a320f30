// RUN: ark-opt %s --split-input-file --ark-verify-target --verify-diagnostics -o /dev/null

// target_c1
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func internal @body() {
  // expected-error @below {{'arith.constant' op cannot be translated to machine code (target_c1)}}
  %one = arith.constant 1 : i32
  llvm.return
}

// -----

// expected-error @below {{does not have exactly one gpu.module (target_c2)}}
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func internal @body() {
  llvm.return
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// expected-error @below {{names no target (target_c2)}}
gpu.module @ark_gpu {
}
}

// -----

// expected-error @below {{has no code for its entry '@ark_kernel' (target_c3)}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func internal @body() {
  llvm.return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// expected-error @below {{has type '!llvm.func<void (ptr)>', but an entry has type '!llvm.func<i32 (ptr, i64)>' (target_c3)}}
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body() {
  llvm.return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// expected-error @below {{is the entry but is not visible (target_c3)}}
llvm.func internal @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func internal @body() {
  llvm.return
}

// -----

// expected-error @below {{has no code for body {function = @body, operands = 0 : i64} (target_c4)}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func @body()

// -----

// An NVVM op in code for an AMD GPU.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  // expected-error @below {{'nvvm.barrier0' op cannot be translated to machine code (target_c1)}}
  nvvm.barrier0
  llvm.return
}
llvm.func internal @body() {
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  // expected-error @below {{'rocdl.barrier' op cannot be translated to machine code (target_c1)}}
  rocdl.barrier
  llvm.return
}
llvm.func internal @body() {
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body() {
  llvm.return
}
// expected-error @below {{is called but has no body, and hip has no library (target_c5)}}
llvm.func @__ocml_tan_f32(f32) -> f32
}
}

// -----

// PTX in code for an AMD GPU.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%number: i32) {
  // expected-error @below {{'llvm.inline_asm' op is code for another backend than hip (target_c7)}}
  %thread = llvm.inline_asm has_side_effects "mov.u32 $0, %tid.x;", "=v" : () -> i32
  llvm.return
}
}
}

// -----

// A special register of NVIDIA GPUs in code for an AMD GPU.
module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%number: i32) {
  // expected-error @below {{'llvm.inline_asm' op is code for another backend than hip (target_c7)}}
  %same = llvm.inline_asm has_side_effects "", "=r,0" %number : (i32) -> i32
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#rocdl.target<chip = "gfx942">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%number: i32) {
  // expected-error @below {{'llvm.call_intrinsic' op is code for another backend than hip (target_c7)}}
  %thread = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
  llvm.return
}
}
}

// -----

// An AMD intrinsic in code for an NVIDIA GPU.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%number: i32) {
  // expected-error @below {{'llvm.inline_asm' op is code for another backend than cuda (target_c7)}}
  %same = llvm.inline_asm has_side_effects "", "=v,0" %number : (i32) -> i32
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%number: i32) {
  // expected-error @below {{'llvm.call_intrinsic' op is code for another backend than cuda (target_c7)}}
  %thread = llvm.call_intrinsic "llvm.amdgcn.workitem.id.x"() : () -> i32
  llvm.return
}
}
}

// -----

// A GPU intrinsic in code for a cpu.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func internal @body() {
  // expected-error @below {{'llvm.inline_asm' op is code for another backend than cpu (target_c7)}}
  llvm.inline_asm has_side_effects "pause", "" : () -> ()
  llvm.return
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// expected-error @below {{takes 65537 bytes of shared memory, and an SM has 65536 (target_c8)}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, shared_memory = 65537 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%number: i32) {
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  // expected-error @below {{accesses bits: booleans take a byte each (target_c9)}}
  %0 = llvm.load %context : !llvm.ptr -> vector<16xi1>
  llvm.return
}
llvm.func internal @body(%number: i32) {
  llvm.return
}
}
}
