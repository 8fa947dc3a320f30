// RUN: ark-opt %s --split-input-file --ark-receive-packets=threads=8 | FileCheck %s

// Three loads of two packets. A load has eight bytes, and its values have four.
// CHECK-LABEL: func.func private @body(
// CHECK: call @ark_receive_bf16_6_6_by_2(
// CHECK-LABEL: func.func private @ark_receive_bf16_6_6_by_2(
// CHECK: %[[LAST:.+]] = arith.constant 2 : index
// CHECK: %[[LOAD:.+]] = arith.minui %{{.+}}, %[[LAST]]
// CHECK: arith.muli %[[LOAD]], %c8
// CHECK: %[[WORDS:.+]]:2 = scf.if
// CHECK: func.call @ark_load_two_packets(%{{.+}}) : (!llvm.ptr) -> (i32, i32)
// CHECK: func.call @ark_are_two_packets_stale(%[[WORDS]]#0, %[[WORDS]]#1, %{{.+}})
// CHECK: llvm.store %{{.+}} : i32, !llvm.ptr
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<1x6xi32> {ark.packets}) {
  %v = memref.alloca() : memref<1x6xbf16>
  ark.receive_packets %p to %v : memref<1x6xi32> to memref<1x6xbf16>
  return
}
func.func private @ark_load_two_packets(%words: !llvm.ptr) -> (i32, i32)
func.func private @ark_are_two_packets_stale(%a: i32, %b: i32, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// An odd row: five loads of one packet.
// CHECK-LABEL: func.func private @body(
// CHECK: call @ark_receive_f16_5_5_by_1(
// CHECK-LABEL: func.func private @ark_receive_f16_5_5_by_1(
// CHECK: %[[LAST:.+]] = arith.constant 4 : index
// CHECK: %[[LOAD:.+]] = arith.minui %{{.+}}, %[[LAST]]
// CHECK: arith.muli %[[LOAD]], %c4
// CHECK: func.call @ark_load_packet(%{{.+}}) : (!llvm.ptr) -> i32
// CHECK: func.call @ark_is_packet_stale(
// CHECK: %[[VALUE:.+]] = arith.trunci %{{.+}} : i32 to i16
// CHECK: llvm.store %[[VALUE]], %{{.+}} : i16, !llvm.ptr
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<1x5xi32> {ark.packets}) {
  %v = memref.alloca() : memref<1x5xf16>
  ark.receive_packets %p to %v : memref<1x5xi32> to memref<1x5xf16>
  return
}
func.func private @ark_load_packet(%words: !llvm.ptr) -> i32
func.func private @ark_is_packet_stale(%a: i32, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// Rows of three values that are five packets apart: the values are dense.
// CHECK-LABEL: func.func private @body(
// CHECK: call @ark_receive_bf16_6_3_5_6_by_1(
// CHECK-LABEL: func.func private @ark_receive_bf16_6_3_5_6_by_1(
// CHECK: %[[ROW:.+]] = arith.divui %{{.+}}, %c3
// CHECK: %[[BYTES:.+]] = arith.constant 8 : index
// CHECK: arith.muli %[[ROW]], %[[BYTES]]
// CHECK: func.call @ark_load_packet(
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<2x3xi32, strided<[5, 1], offset: ?>> {ark.packets}) {
  %v = memref.alloca() : memref<2x3xbf16>
  ark.receive_packets %p to %v : memref<2x3xi32, strided<[5, 1], offset: ?>> to memref<2x3xbf16>
  return
}
func.func private @ark_load_packet(%words: !llvm.ptr) -> i32
func.func private @ark_is_packet_stale(%a: i32, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// The row begins at the third packet of a vector.
// CHECK-LABEL: func.func private @body(
// CHECK: call @ark_receive_bf16_8_8_by_2(
// CHECK-LABEL: func.func private @ark_receive_bf16_8_8_by_2(
// CHECK: func.call @ark_load_two_packets(
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<1x8xi32> {ark.packets}) {
  %v = memref.alloca() : memref<1x8xbf16>
  ark.receive_packets %p to %v {per_load = 2 : i64} : memref<1x8xi32> to memref<1x8xbf16>
  return
}
func.func private @ark_load_two_packets(%words: !llvm.ptr) -> (i32, i32)
func.func private @ark_are_two_packets_stale(%a: i32, %b: i32, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// The packets have rows of four, and the values of two: a load has two.
// CHECK-LABEL: func.func private @body(
// CHECK: call @ark_receive_bf16_8_8_2_6_by_2(
// CHECK: func.call @ark_load_two_packets(
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<4x2xi32> {ark.packets}) {
  %v = memref.alloca() : memref<4x2xbf16, strided<[6, 1]>>
  ark.receive_packets %p to %v : memref<4x2xi32> to memref<4x2xbf16, strided<[6, 1]>>
  return
}
func.func private @ark_load_two_packets(%words: !llvm.ptr) -> (i32, i32)
func.func private @ark_are_two_packets_stale(%a: i32, %b: i32, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// An odd row of f32: loads of one wide packet.
// CHECK-LABEL: func.func private @body(
// CHECK: call @ark_receive_f32_3_3_by_1(
// CHECK-LABEL: func.func private @ark_receive_f32_3_3_by_1(
// CHECK: arith.muli %{{.+}}, %c8
// CHECK: %[[WORD:.+]] = scf.if
// CHECK: func.call @ark_load_wide_packet(%{{.+}}) : (!llvm.ptr) -> i64
// CHECK: func.call @ark_is_wide_packet_stale(%[[WORD]], %{{.+}})
// CHECK: llvm.store %{{.+}} : i32, !llvm.ptr
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<1x3xi64> {ark.packets}) {
  %v = memref.alloca() : memref<1x3xf32>
  ark.receive_packets %p to %v : memref<1x3xi64> to memref<1x3xf32>
  return
}
func.func private @ark_load_wide_packet(%words: !llvm.ptr) -> i64
func.func private @ark_is_wide_packet_stale(%a: i64, %tag: i32) -> i1
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1
