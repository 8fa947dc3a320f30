// RUN: ark-opt %s --split-input-file --ark-send-packets --verify-diagnostics -o /dev/null

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<16xi32> {ark.packets}, %x: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  %row = memref.subview %p[4] [8] [1] : memref<16xi32> to memref<8xi32, strided<[1], offset: 4>>
  %zero = arith.constant dense<0> : vector<4xi32>
  // expected-error @below {{'vector.store' op accesses packets, which only scalar stores write and 'ark.receive_packets' reads}}
  vector.store %zero, %row[%c0] : memref<8xi32, strided<[1], offset: 4>>, vector<4xi32>
  return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<16xi32> {ark.packets}, %x: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'memref.copy' op accesses packets}}
  memref.copy %x, %p : memref<16xi32> to memref<16xi32>
  return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<16xi32> {ark.packets}, %x: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'memref.load' op accesses packets}}
  %word = memref.load %p[%c0] : memref<16xi32>
  return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<16xi32> {ark.packets}, %x: memref<16xi32>) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{'func.call' op accesses packets}}
  func.call @other(%p) : (memref<16xi32>) -> ()
  return
}
func.func private @other(memref<16xi32>)

// -----

// A callback has one callee: the text of the kernel has the order of callbacks.
// expected-error @below {{function '@ark_begin_packets' of the kernel has more than one callee}}
module {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<16xi32> {ark.packets}) {
  %c0 = arith.constant 0 : index
  %e = ark.epoch : i32
  memref.store %e, %p[%c0] : memref<16xi32>
  return
}
func.func private @ark_begin_packets(%context: !llvm.ptr, %lane: i64, %iterations: i64) {
  func.call @ark_other(%context, %lane, %iterations) : (!llvm.ptr, i64, i64) -> ()
  return
}
func.func private @ark_begin_iteration(%round: i32) {
  return
}
func.func private @ark_begin_work_item(%position: i64) {
  return
}
func.func private @ark_other(%context: !llvm.ptr, %lane: i64, %iterations: i64)
func.func private @ark_packets_begin(%context: !llvm.ptr, %lane: i64, %iterations: i64)
func.func private @ark_packets_iteration(%round: i32)
func.func private @ark_packets_begin_work_item(%position: i64)
func.func private @ark_packet_epoch() -> i32
func.func private @ark_send_packet(%word: !llvm.ptr, %packet: i32)
func.func private @ark_packet_state() -> !llvm.ptr<3>
}
