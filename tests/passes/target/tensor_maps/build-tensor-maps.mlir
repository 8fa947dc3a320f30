// RUN: ark-opt %s --split-input-file --ark-build-tensor-maps | FileCheck %s

// Two tasks share a body with tensor maps of its second and first operands; the
// task between them has no maps. A record holds the slot and the offset of the
// task's operand, and the rest of the map, with a stride in bytes.
// CHECK-DAG: llvm.mlir.global internal constant @ark_tensor_map_firsts_table(dense<[0, 2, 2]> : tensor<3xi32>) {addr_space = 4 : i32
// CHECK-DAG: llvm.mlir.global internal constant @ark_tensor_map_records_table(dense<[2, 0, 192, 128, 384, 128, 1, 0, 192, 256, 1152, 256, 3, 4096, 192, 128, 384, 128, 0, 64, 192, 256, 1152, 256]> : tensor<24xi64>) {addr_space = 1 : i32
// Two lanes with four maps each, of 128 bytes.
// CHECK-DAG: llvm.mlir.global internal @ark_tensor_maps_memory(#llvm.zero) {addr_space = 1 : i32, alignment = 128 : i64} : !llvm.array<1024 x i8>
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, arena = 1024 : i64, shared_memory = 200 : i64,
    bodies = [{function = @product, operands = 2 : i64}, {function = @other, operands = 1 : i64}],
    buffers = [], tasks = [{}, {}, {}],
    operands = dense<[[1, 0], [2, 0], [1, 0], [0, 64], [3, 4096]]> : tensor<5x2xi64>,
    task_table = dense<[[0, 0], [1, 2], [0, 3]]> : tensor<3x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0], [1, 0, 0]]> : tensor<2x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x192xbf16>, %w: memref<128x192xbf16>)
    attributes {ark.tensor_maps = [array<i64: 1, 192, 128, 192, 128>, array<i64: 0, 192, 256, 576, 256>]} {
  return
}
func.func private @other(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xbf16>) {
  return
}
func.func private @ark_tensor_maps() -> !llvm.ptr<1>
// CHECK: func.func private @ark_tensor_map_count() -> i64 {
// CHECK-NEXT: arith.constant 4 : i64
func.func private @ark_tensor_map_count() -> i64
// CHECK: func.func private @ark_tensor_map_firsts() -> !llvm.ptr<4> {
// CHECK-NEXT: llvm.mlir.addressof @ark_tensor_map_firsts_table : !llvm.ptr<4>
func.func private @ark_tensor_map_firsts() -> !llvm.ptr<4>
func.func private @ark_tensor_map_records() -> !llvm.ptr<1>
// The scratch space begins behind the other shared memory, at a multiple of 128 bytes.
// CHECK: func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3> {
// CHECK-NEXT: %[[MEMORY:.+]] = llvm.mlir.addressof @ark_shared_memory
// CHECK-NEXT: llvm.getelementptr %[[MEMORY]][256]
func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3>
// CHECK: func.func private @ark_tensor_map_warps() -> i64 {
// CHECK-NEXT: arith.constant 16 : i64
func.func private @ark_tensor_map_warps() -> i64
func.func private @ark_make_tensor_maps(!llvm.ptr, i64, i64)
// A lane makes its tensor maps at the start of the kernel.
// CHECK: func.func private @ark_begin_tensor_maps(%[[CONTEXT:.+]]: !llvm.ptr, %[[LANE:.+]]: i64, %[[ITERATIONS:.+]]: i64) {
// CHECK-NEXT: call @ark_make_tensor_maps(%[[CONTEXT]], %[[LANE]], %[[ITERATIONS]])
func.func private @ark_begin_tensor_maps(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  return
}

// -----

// If no body uses tensor maps, the kernel makes none.
// CHECK-LABEL: ark.kernel @none
// CHECK-NOT: ark_tensor_maps_memory
// CHECK: func.func private @ark_begin_tensor_maps(
// CHECK-NEXT: return
ark.kernel @none {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @other, operands = 1 : i64}],
    buffers = [], tasks = [{}], operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @other(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xbf16>) {
  return
}
func.func private @ark_begin_tensor_maps(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  return
}
