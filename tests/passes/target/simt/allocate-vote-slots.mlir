// RUN: ark-opt %s --split-input-file --ark-allocate-vote-slots | FileCheck %s

// One word for each of eight warps, behind the shared memory used so far.
// CHECK: ark.kernel @votes {{.*}}shared_memory = 288 : i64
// CHECK-LABEL: func.func private @ark_vote_slots() -> !llvm.ptr<3> {
// CHECK-NEXT: %[[BASE:.+]] = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
// CHECK-NEXT: %[[ADDRESS:.+]] = llvm.getelementptr %[[BASE]][256]
// CHECK-NEXT: return %[[ADDRESS]]
// CHECK-LABEL: func.func private @ark_warps() -> i32 {
// CHECK-NEXT: %[[COUNT:.+]] = arith.constant 8 : i32
// CHECK-NEXT: return %[[COUNT]]
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @votes {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], shared_memory = 200 : i64, timeline = dense<> : tensor<0x2xi64>}
func.func private @ark_vote_slots() -> !llvm.ptr<3>
func.func private @ark_warps() -> i32
}

// -----

// If the GPU has a barrier with a vote, the kernel needs no slots.
// CHECK: ark.kernel @barrier
// CHECK-NOT: shared_memory
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @barrier {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}
