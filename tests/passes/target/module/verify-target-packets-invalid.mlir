// RUN: ark-opt %s --split-input-file --ark-verify-target --verify-diagnostics -o /dev/null

// The vector store writes several words in one access.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %zero = llvm.mlir.zero : vector<4xi32>
  // expected-error @below {{'llvm.store' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %zero, %p {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr
  llvm.return
}
}
}

// -----

// The store writes one word, but other SMs need not see it.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %address = llvm.getelementptr %p[%begin] : (!llvm.ptr, i64) -> !llvm.ptr, i32
  // expected-error @below {{'llvm.store' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %zero, %address : i32, !llvm.ptr
  llvm.return
}
}
}

// -----

// The address passes through integers, a branch and a function.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @read(%address: !llvm.ptr) {
  // expected-error @below {{'llvm.load' op uses the address of a packet but is not a packet instruction (target_c6)}}
  %word = llvm.load %address : !llvm.ptr -> i32
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %number = llvm.ptrtoint %p : !llvm.ptr to i64
  llvm.br ^next(%number : i64)
^next(%n: i64):
  %sum = llvm.add %n, %begin : i64
  %address = llvm.inttoptr %sum : i64 to !llvm.ptr
  llvm.call @read(%address) : (!llvm.ptr) -> ()
  llvm.return
}
}
}

// -----

// The address passes through a result.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @same(%address: !llvm.ptr) -> !llvm.ptr {
  llvm.return %address : !llvm.ptr
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %q = llvm.call @same(%p) : (!llvm.ptr) -> !llvm.ptr
  // expected-error @below {{'llvm.load' op uses the address of a packet but is not a packet instruction (target_c6)}}
  %word = llvm.load %q : !llvm.ptr -> i32
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %one = llvm.mlir.constant(1 : i32) : i32
  // expected-error @below {{'llvm.atomicrmw' op uses the address of a packet but is not a packet instruction (target_c6)}}
  %old = llvm.atomicrmw xchg %p, %one monotonic : !llvm.ptr, i32
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.intr.memcpy' op uses the address of a packet but is not a packet instruction (target_c6)}}
  "llvm.intr.memcpy"(%p, %x, %end) <{isVolatile = false}> : (!llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
}
}
}

// -----

// Asynchronous copies access packets.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %memory = llvm.mlir.zero : !llvm.ptr<3>
  %global = llvm.addrspacecast %p : !llvm.ptr to !llvm.ptr<1>
  // expected-error @below {{'nvvm.cp.async.shared.global' op uses the address of a packet but is not a packet instruction (target_c6)}}
  nvvm.cp.async.shared.global %memory, %global, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  llvm.return
}
}
}

// -----

// An address that is stored could be used by any code.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.store' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %p, %x : !llvm.ptr, !llvm.ptr
  llvm.return
}
}
}

// -----

// The inline assembly is not a packet instruction, or more than one.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.inline_asm' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.inline_asm has_side_effects "st.global.u64 [$0], $1;", "l,l,~{memory}" %p, %begin : (!llvm.ptr, i64) -> ()
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.inline_asm' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u64 [$0], $1; st.global.u64 [$0+8], $1;", "l,l,~{memory}" %p, %begin : (!llvm.ptr, i64) -> ()
  llvm.return
}
}
}

// -----

// The address is the value that is sent instead of the destination.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.inline_asm' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u64 [$0], $1;", "l,l,~{memory}" %x, %p : (!llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
}
}

// -----

// The function's effect is unknown.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func @other(!llvm.ptr)
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.call' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.call @other(%p) : (!llvm.ptr) -> ()
  llvm.return
}
}
}

// -----

// The body looks up the address in the tables instead of using its argument.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %row = llvm.getelementptr %context[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %address = llvm.load %row : !llvm.ptr -> !llvm.ptr
  llvm.return %address : !llvm.ptr
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}, %context: !llvm.ptr, %first: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %row = llvm.add %first, %one : i64
  %again = llvm.call @ark_operand(%context, %row) : (!llvm.ptr, i64) -> !llvm.ptr
  // expected-error @below {{'llvm.store' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %begin, %again : i64, !llvm.ptr
  llvm.return
}
}
}

// -----

// The looked-up address may belong to any operand.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %row = llvm.getelementptr %context[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %address = llvm.load %row : !llvm.ptr -> !llvm.ptr
  llvm.return %address : !llvm.ptr
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}, %context: !llvm.ptr, %first: i64) {
  %row = llvm.add %first, %begin : i64
  %again = llvm.call @ark_operand(%context, %row) : (!llvm.ptr, i64) -> !llvm.ptr
  // expected-error @below {{'llvm.store' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %begin, %again : i64, !llvm.ptr
  llvm.return
}
}
}

// -----

// The caller's packet operands are unknown.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %row = llvm.getelementptr %context[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %address = llvm.load %row : !llvm.ptr -> !llvm.ptr
  llvm.return %address : !llvm.ptr
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  llvm.return
}
llvm.func internal @ark_prefetch_work_item(%context: !llvm.ptr, %first: i64) {
  %p = llvm.call @ark_operand(%context, %first) : (!llvm.ptr, i64) -> !llvm.ptr
  // expected-error @below {{'llvm.load' op uses the address of a packet but is not a packet instruction (target_c6)}}
  %word = llvm.load %p : !llvm.ptr -> i32
  llvm.return
}
}
}

// -----

// The attribute `ark.packets` is missing, or is at another operand.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
// expected-error @below {{argument 5 does not carry 'ark.packets', but its operand is packets}}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr) {
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
// expected-error @below {{argument 4 carries 'ark.packets', but its operand is not packets}}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr {ark.packets}, %p: !llvm.ptr {ark.packets}) {
  llvm.return
}
}
}

// -----

// The argument is missing as well.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
// expected-error @below {{argument 5 does not carry 'ark.packets', but its operand is packets}}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr) {
  llvm.return
}
}
}

// -----

module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
// expected-error @below {{task 1 shares body {function = @body, operands = 2 : i64} with a task that has packets in other operands}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}, {}],
    operands = dense<[[1, 0], [2, 64], [2, 0], [1, 0]]> : tensor<4x2xi64>, task_table = dense<[[0, 0], [0, 2]]> : tensor<2x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  llvm.return
}
}
}

// -----

// The wait polls the last word that the task stores.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [0, 8], [0, 8], [0, 16]]> : tensor<4x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[2, 0, 1, 2]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [{arrivals = 1 : i64, handoff = "packet"}], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
// expected-error @below {{argument 5 does not carry 'ark.packets', but its operand is packets}}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr) {
  llvm.return
}

// -----

// The store has no release semantics.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [0, 8], [0, 8], [0, 16]]> : tensor<4x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[2, 0, 1, 2]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [{arrivals = 1 : i64, handoff = "packet"}], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.store' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.store %begin, %p atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.return
}

// -----

// expected-error @below {{semaphore 0 waits for packets that are not in the operand table}}
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [0, 8], [0, 8]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<[[2, 0, 1, 2]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [{arrivals = 1 : i64, handoff = "packet"}], timeline = dense<> : tensor<0x2xi64>}
llvm.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
  %good = llvm.mlir.constant(0 : i32) : i32
  llvm.return %good : i32
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr) {
  llvm.return
}

// -----

// With several ranks, the receiver of a packet may be on another GPU: the scope of one GPU is too narrow.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, ranks = 2 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.inline_asm' op uses the address of a packet but is not a packet instruction (target_c6)}}
  llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u64 [$0], $1;", "l,l,~{memory}" %p, %begin : (!llvm.ptr, i64) -> ()
  llvm.return
}
}
}

// -----

// A load of half a packet has no epoch.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.inline_asm' op uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.inline_asm has_side_effects "ld.relaxed.gpu.global.u16 $0, [$1];", "=h,l,~{memory}" %p : (!llvm.ptr) -> i16
  llvm.return
}
}
}

// -----

// The load excludes other CTAs.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.inline_asm' op uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.inline_asm has_side_effects "ld.relaxed.cta.global.u32 $0, [$1];", "=r,l,~{memory}" %p : (!llvm.ptr) -> i32
  llvm.return
}
}
}

// -----

// An ordinary load may be split.
module attributes {gpu.container_module, ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{}], tasks = [{}],
    operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
gpu.module @ark_gpu [#nvvm.target<chip = "sm_90a">] {
llvm.func @ark_kernel(%context: !llvm.ptr) {
  llvm.return
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  // expected-error @below {{'llvm.inline_asm' op uses the address of a packet but is not a packet instruction (target_c6)}}
  %0 = llvm.inline_asm has_side_effects "ld.global.v2.u32 {$0, $1}, [$2];", "=r,=r,l,~{memory}" %p : (!llvm.ptr) -> !llvm.struct<(i32, i32)>
  llvm.return
}
}
}
