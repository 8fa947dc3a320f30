// Passes complete a kernel text: functions that the text declares return a constant or an address, and callbacks call
// a function of a feature.
// RUN: ark-opt %s --split-input-file --ark-build-tensor-maps | FileCheck %s

// The constant has the declared type. An address is a number of bytes behind a global, in the address space of the
// global. The callee has the arguments of the callback, in their order, before the ops of the callback.
// CHECK-LABEL: func.func private @ark_tensor_maps() -> !llvm.ptr<1> {
// CHECK-NEXT: %[[BASE:.+]] = llvm.mlir.addressof @ark_tensor_maps_memory : !llvm.ptr<1>
// CHECK-NEXT: %[[ADDRESS:.+]] = llvm.getelementptr %[[BASE]][0] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8
// CHECK-NEXT: return %[[ADDRESS]] : !llvm.ptr<1>
// CHECK-LABEL: func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3> {
// CHECK-NEXT: %[[BASE:.+]] = llvm.mlir.addressof @ark_shared_memory : !llvm.ptr<3>
// CHECK-NEXT: %[[ADDRESS:.+]] = llvm.getelementptr %[[BASE]][128] : (!llvm.ptr<3>) -> !llvm.ptr<3>, i8
// CHECK-NEXT: return %[[ADDRESS]] : !llvm.ptr<3>
// CHECK-LABEL: func.func private @ark_tensor_map_count() -> index {
// CHECK-NEXT: %[[COUNT:.+]] = arith.constant 1 : index
// CHECK-NEXT: return %[[COUNT]] : index
// CHECK-LABEL: func.func private @ark_tensor_map_warps() -> i8 {
// CHECK-NEXT: %[[WARPS:.+]] = arith.constant 16 : i8
// CHECK-NEXT: return %[[WARPS]] : i8
// CHECK-LABEL: func.func private @ark_begin_tensor_maps(
// CHECK-SAME: %[[LANE:.+]]: i64, %[[CONTEXT:.+]]: !llvm.ptr) {
// CHECK-NEXT: call @ark_make_tensor_maps(%[[LANE]], %[[CONTEXT]]) : (i64, !llvm.ptr) -> ()
// CHECK-NEXT: return
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 1024 : i64, shared_memory = 8 : i64,
    bodies = [{function = @product, operands = 1 : i64}], buffers = [], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @product(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xbf16>)
    attributes {ark.tensor_maps = [array<i64: 0, 192, 128, 192, 128>]} {
  return
}
func.func private @ark_tensor_maps() -> !llvm.ptr<1>
func.func private @ark_tensor_map_firsts() -> !llvm.ptr<4>
func.func private @ark_tensor_map_records() -> !llvm.ptr<1>
func.func private @ark_tensor_map_scratch() -> !llvm.ptr<3>
func.func private @ark_tensor_map_count() -> index
func.func private @ark_tensor_map_warps() -> i8
func.func private @ark_make_tensor_maps(i64, !llvm.ptr)
func.func private @ark_begin_tensor_maps(%lane: i64, %context: !llvm.ptr) {
  return
}
