// Passes allocate shared memory one behind the other, in one global. Each of them begins at a multiple of 128 bytes.
// RUN: ark-opt %s --ark-place-in-shared-memory --ark-allocate-vote-slots | FileCheck %s

// CHECK: llvm.mlir.global external @ark_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK-NOT: llvm.mlir.global
// Five floats, then a word for each of eight warps.
// CHECK: ark.kernel @k {{.*}}shared_memory = 160 : i64
// CHECK-LABEL: func.func private @ark_vote_slots() -> !llvm.ptr<3> {
// CHECK-NEXT: %[[BASE:.+]] = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
// CHECK-NEXT: llvm.getelementptr %[[BASE]][128]
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: %[[BASE:.+]] = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
// CHECK-NEXT: llvm.getelementptr %[[BASE]][0]
// CHECK-NOT: llvm.mlir.global
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @ark_vote_slots() -> !llvm.ptr<3>
func.func private @ark_warps() -> i32
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  %a = memref.alloca() : memref<5xf32>
  %x = memref.load %a[%begin] : memref<5xf32>
  memref.store %x, %a[%end] : memref<5xf32>
  return
}
}
