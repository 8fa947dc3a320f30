// RUN: ark-opt %s --split-input-file --ark-verify-target | FileCheck %s

// Addresses computed from a packet operand may be sent to, polled and compared,
// in any function. Other operands are unrestricted.
// CHECK: ark.kernel
// CHECK: gpu.module
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
llvm.func internal @send(%word: !llvm.ptr, %packet: i32) {
  llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u32 [$0], $1;", "l,r,~{memory}" %word, %packet : (!llvm.ptr, i32) -> ()
  llvm.return
}
llvm.func internal @load(%words: !llvm.ptr) -> i32 {
  %all = llvm.inline_asm has_side_effects "ld.relaxed.gpu.global.v4.u32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}" %words : (!llvm.ptr) -> !llvm.struct<(i32, i32, i32, i32)>
  %a = llvm.extractvalue %all[0] : !llvm.struct<(i32, i32, i32, i32)>
  llvm.return %a : i32
}
llvm.func internal @behind(%words: !llvm.ptr, %bytes: i64) -> !llvm.ptr {
  %number = llvm.ptrtoint %words : !llvm.ptr to i64
  %sum = llvm.add %number, %bytes : i64
  %address = llvm.inttoptr %sum : i64 to !llvm.ptr
  llvm.return %address : !llvm.ptr
}
llvm.func internal @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %row = llvm.getelementptr %context[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %address = llvm.load %row : !llvm.ptr -> !llvm.ptr
  llvm.return %address : !llvm.ptr
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}, %context: !llvm.ptr, %first: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %null = llvm.mlir.zero : !llvm.ptr
  %word = llvm.mlir.constant(7 : i32) : i32
  %address = llvm.call @behind(%p, %end) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.call @send(%address, %word) : (!llvm.ptr, i32) -> ()
  %row = llvm.add %first, %one : i64
  %again = llvm.call @ark_operand(%context, %row) : (!llvm.ptr, i64) -> !llvm.ptr
  %loaded = llvm.call @load(%again) : (!llvm.ptr) -> i32
  %other = llvm.call @ark_operand(%context, %first) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.store %loaded, %other : i32, !llvm.ptr
  %none = llvm.icmp "eq" %p, %null : !llvm.ptr
  llvm.cond_br %none, ^end, ^store
^store:
  llvm.store %loaded, %x : i32, !llvm.ptr
  llvm.br ^end
^end:
  llvm.return
}
llvm.func internal @ark_execute_work_item(%context: !llvm.ptr, %first: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %x = llvm.call @ark_operand(%context, %first) : (!llvm.ptr, i64) -> !llvm.ptr
  %row = llvm.add %first, %one : i64
  %p = llvm.call @ark_operand(%context, %row) : (!llvm.ptr, i64) -> !llvm.ptr
  llvm.call @body(%one, %one, %one, %x, %x, %p, %context, %first) : (i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
  llvm.return
}
}
}

// -----

// On a cpu a packet is a release store of 64 bits.
// CHECK: ark.kernel
// CHECK: atomic release
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
  %address = llvm.getelementptr %p[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %begin, %address atomic release {alignment = 8 : i64} : i64, !llvm.ptr
  llvm.store %begin, %x : i64, !llvm.ptr
  llvm.return
}

// -----

// A load reads one, two or four packets.
// CHECK: ark.kernel
// CHECK: gpu.module
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
  %0 = llvm.inline_asm has_side_effects "ld.relaxed.gpu.global.u32 $0, [$1];", "=r,l,~{memory}" %p : (!llvm.ptr) -> i32
  %1 = llvm.inline_asm has_side_effects "ld.relaxed.gpu.global.v2.u32 {$0, $1}, [$2];", "=r,=r,l,~{memory}" %p : (!llvm.ptr) -> !llvm.struct<(i32, i32)>
  %2 = llvm.inline_asm has_side_effects "ld.relaxed.gpu.global.u64 $0, [$1];", "=l,l,~{memory}" %p : (!llvm.ptr) -> i64
  llvm.return
}
}
}
