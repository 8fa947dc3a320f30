// RUN: ark-opt %s --split-input-file --ark-send-packets | FileCheck %s

// Each packet is sent by one store of a whole word, where its value is computed; other stores do not change.
// The dispatch loop provides the epoch.
// CHECK-LABEL: ark.kernel @k
// CHECK-SAME: shared_memory = 280 : i64
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[P:[^:]+]]: memref<4x16xi32, strided<[16, 1], offset: ?>> {ark.packets}, %[[X:[^:]+]]: memref<16xi32>
// CHECK: %[[EPOCH:.+]] = {{.*}}call @ark_packet_epoch() : () -> i32
// CHECK: memref.extract_strided_metadata
// CHECK: %[[BYTES:.+]] = arith.muli %{{.+}}, %c4
// CHECK: %[[ADDRESS:.+]] = llvm.inttoptr
// CHECK: call @ark_send_packet(%[[ADDRESS]], %[[EPOCH]]) : (!llvm.ptr, i32) -> ()
// CHECK-NOT: memref.store %{{.+}}, %[[P]]
// CHECK: memref.store %[[EPOCH]], %[[X]]
// CHECK: func.func private @ark_begin_packets(%[[CONTEXT:.+]]: !llvm.ptr, %[[LANE:.+]]: i64, %[[ITERATIONS:.+]]: i64)
// CHECK-NEXT: call @ark_packets_begin(%[[CONTEXT]], %[[LANE]], %[[ITERATIONS]])
// CHECK: func.func private @ark_begin_iteration(%[[ROUND:.+]]: i32)
// CHECK-NEXT: call @ark_packets_iteration(%[[ROUND]])
// CHECK: func.func private @ark_begin_work_item(%[[POSITION:.+]]: i64)
// CHECK-NEXT: call @ark_packets_begin_work_item(%[[POSITION]])
// The state of packets lies behind the shared memory used so far.
// CHECK: func.func private @ark_packet_state() -> !llvm.ptr<3> {
// CHECK: llvm.getelementptr %{{.+}}[256]
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64, shared_memory = 200 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %p: memref<4x16xi32, strided<[16, 1], offset: ?>> {ark.packets}, %x: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %e = ark.epoch : i32
  %row = memref.subview %p[%begin, 0] [1, 16] [1, 1] : memref<4x16xi32, strided<[16, 1], offset: ?>> to memref<1x16xi32, strided<[16, 1], offset: ?>>
  memref.store %e, %row[%c0, %begin] : memref<1x16xi32, strided<[16, 1], offset: ?>>
  memref.store %e, %x[%begin] : memref<16xi32>
  return
}
func.func private @ark_begin_packets(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  return
}
func.func private @ark_begin_iteration(%round: i32) {
  return
}
func.func private @ark_begin_work_item(%position: i64) {
  return
}
func.func private @ark_packets_begin(%context: !llvm.ptr, %lane: i64, %iterations: i64)
func.func private @ark_packets_iteration(%round: i32)
func.func private @ark_packets_begin_work_item(%position: i64)
func.func private @ark_packet_epoch() -> i32
func.func private @ark_packet_state() -> !llvm.ptr<3>
func.func private @ark_send_packet(%word: !llvm.ptr, %packet: i32)

// -----

// Without packets no callback of the dispatch loop has a callee.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store
// CHECK: func.func private @ark_begin_packets(
// CHECK-NEXT: return
// CHECK: func.func private @ark_begin_iteration(
// CHECK-NEXT: return
// CHECK: func.func private @ark_begin_work_item(
// CHECK-NEXT: return
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<16xindex>) {
  memref.store %begin, %x[%begin] : memref<16xindex>
  return
}
func.func private @ark_begin_packets(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  return
}
func.func private @ark_begin_iteration(%round: i32) {
  return
}
func.func private @ark_begin_work_item(%position: i64) {
  return
}
func.func private @ark_packets_begin(%context: !llvm.ptr, %lane: i64, %iterations: i64)
func.func private @ark_packets_iteration(%round: i32)
func.func private @ark_packets_begin_work_item(%position: i64)
func.func private @ark_packet_epoch() -> i32
func.func private @ark_packet_state() -> !llvm.ptr<3>
func.func private @ark_send_packet(%word: !llvm.ptr, %packet: i32)

// -----

// Packets of 64 bits are sent in the same way.
// CHECK-LABEL: func.func private @body(
// CHECK: arith.muli %{{.+}}, %c8
// CHECK: call @ark_send_wide_packet(%{{.+}}, %{{.+}}) : (!llvm.ptr, i64) -> ()
// CHECK-NOT: memref.store
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<16xi64> {ark.packets}) {
  %word = arith.constant 7 : i64
  memref.store %word, %p[%begin] : memref<16xi64>
  return
}
func.func private @ark_send_wide_packet(%word: !llvm.ptr, %packet: i64)
