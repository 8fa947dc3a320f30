// RUN: ark-opt %s --ark-verify-target | FileCheck %s

// Relaxed loads and stores of 32 and 64 bits access packets. Moves to scalar registers and marks of global memory
// access no memory: only the marked address of a packet is the address of a packet.
// CHECK: ark.kernel
// CHECK: gpu.module
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
  %number = llvm.ptrtoint %address : !llvm.ptr to i64
  %uniform = rocdl.readfirstlane %number : i64
  %global = llvm.inttoptr %uniform : i64 to !llvm.ptr<1>
  %result = llvm.addrspacecast %global : !llvm.ptr<1> to !llvm.ptr
  llvm.return %result : !llvm.ptr
}
llvm.func internal @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr {
  %row = llvm.getelementptr %context[%number] : (!llvm.ptr, i64) -> !llvm.ptr, !llvm.ptr
  %address = llvm.load %row : !llvm.ptr -> !llvm.ptr
  llvm.return %address : !llvm.ptr
}
llvm.func internal @body(%begin: i64, %end: i64, %task: i64, %status: !llvm.ptr, %x: !llvm.ptr, %p: !llvm.ptr {ark.packets}) {
  %word = llvm.mlir.constant(7 : i32) : i32
  %marked = llvm.call @ark_mark_global(%p) : (!llvm.ptr) -> !llvm.ptr
  %global = llvm.addrspacecast %marked : !llvm.ptr to !llvm.ptr<1>
  llvm.store %word, %global atomic syncscope("agent") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  %two = llvm.load %global atomic syncscope("agent") monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
  %other = llvm.call @ark_mark_global(%x) : (!llvm.ptr) -> !llvm.ptr
  llvm.store %two, %other : i64, !llvm.ptr
  llvm.return
}
llvm.func internal @ark_execute_work_item(%context: !llvm.ptr, %first: i64) {
  %one = llvm.mlir.constant(1 : i64) : i64
  %0 = llvm.call @ark_operand(%context, %first) : (!llvm.ptr, i64) -> !llvm.ptr
  %x = llvm.call @ark_mark_global(%0) : (!llvm.ptr) -> !llvm.ptr
  %row = llvm.add %first, %one : i64
  %1 = llvm.call @ark_operand(%context, %row) : (!llvm.ptr, i64) -> !llvm.ptr
  %p = llvm.call @ark_mark_global(%1) : (!llvm.ptr) -> !llvm.ptr
  llvm.call @body(%one, %one, %one, %x, %x, %p) : (i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
  llvm.return
}
}
}
