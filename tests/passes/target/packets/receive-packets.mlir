// RUN: ark-opt %s --split-input-file --ark-receive-packets=threads=8 | FileCheck %s

// Each thread polls four packets per load until all have the epoch of this iteration. Here each thread has
// two loads, and some threads do not use the second one.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[P:[^:]+]]: memref<2x24xi32, strided<[24, 1], offset: ?>> {ark.packets}
// CHECK: memref.extract_strided_metadata %[[P]]
// CHECK: %[[WORDS:.+]] = llvm.inttoptr
// CHECK: %[[VALUES:.+]] = memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [48], strides: [1]
// CHECK: call @ark_receive_bf16_48_48(%[[WORDS]], %[[VALUES]]) {ark.cta_collective = 1 : i64}
// Adjacent receptions of packets become one, and one function serves all receptions with the same layout.
// CHECK: memref.store
// CHECK: call @ark_receive_bf16_48_48_f16_48_48({{.*}}) {ark.cta_collective = 2 : i64}
// CHECK: memref.store
// CHECK: call @ark_receive_bf16_48_48(
// CHECK-NOT: ark.receive_packets
// CHECK-LABEL: func.func private @ark_receive_bf16_48_48(
// CHECK-SAME: %[[FROM:[^:]+]]: !llvm.ptr, %{{.+}}: memref<48xbf16>
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: %[[LAST:.+]] = arith.constant 11 : index
// CHECK: arith.minui %{{.+}}, %[[LAST]]
// CHECK: llvm.getelementptr %[[FROM]][
// CHECK: %[[TAG:.+]] = call @ark_packet_tag()
// CHECK: %[[BEGIN:.+]] = call @ark_now()
// CHECK: scf.while (%[[TRIES:[^ ]+]] = %{{[^,]+}}, %[[A:[^ ]+]] = %true, %[[B:[^ ]+]] = %true{{.*}},
// Only missing packets are loaded again, and the rings are served while these loads are in flight.
// CHECK: %[[FIRST:.+]]:4 = scf.if %[[A]]
// CHECK: func.call @ark_load_packets
// CHECK: %[[SECOND:.+]]:4 = scf.if %[[B]]
// CHECK: func.call @ark_load_packets
// CHECK: func.call @ark_packets_poll()
// CHECK: %[[MISS:.+]] = func.call @ark_are_packets_stale(%[[FIRST]]#0, %[[FIRST]]#1, %[[FIRST]]#2, %[[FIRST]]#3, %[[TAG]])
// CHECK: %[[OTHER:.+]] = func.call @ark_are_packets_stale(%[[SECOND]]#0, %[[SECOND]]#1, %[[SECOND]]#2, %[[SECOND]]#3, %[[TAG]])
// CHECK: %[[MISSING:.+]] = arith.ori %{{.+}}, %[[OTHER]]
// CHECK: %[[AGAIN:.+]] = func.call @ark_packets_wait(%[[MISSING]], %[[TRIES]], %[[BEGIN]], %[[FIRST]]#0)
// CHECK: scf.condition(%[[AGAIN]]) %[[TRIES]], %[[MISS]], %[[OTHER]], %[[FIRST]]#0
// CHECK: } do {
// CHECK: scf.yield
// CHECK: scf.if
// CHECK:   llvm.store %{{.+}} : i64, !llvm.ptr
// CHECK: scf.if
// CHECK:   llvm.store %{{.+}} : i64, !llvm.ptr
// CHECK-LABEL: func.func private @ark_receive_bf16_48_48_f16_48_48(
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %p: memref<2x24xi32, strided<[24, 1], offset: ?>> {ark.packets}, %q: memref<2x24xi32, strided<[24, 1], offset: ?>> {ark.packets}) {
  %v = memref.alloca() : memref<2x24xbf16>
  %w = memref.alloca() : memref<2x24xbf16>
  %h = memref.alloca() : memref<2x24xf16>
  ark.receive_packets %p to %v : memref<2x24xi32, strided<[24, 1], offset: ?>> to memref<2x24xbf16>
  %zero = arith.constant 0 : index
  %one = arith.constant 1.0 : bf16
  memref.store %one, %v[%zero, %zero] : memref<2x24xbf16>
  ark.receive_packets %q to %w : memref<2x24xi32, strided<[24, 1], offset: ?>> to memref<2x24xbf16>
  ark.receive_packets %q to %h : memref<2x24xi32, strided<[24, 1], offset: ?>> to memref<2x24xf16>
  memref.store %one, %w[%zero, %zero] : memref<2x24xbf16>
  ark.receive_packets %q to %v : memref<2x24xi32, strided<[24, 1], offset: ?>> to memref<2x24xbf16>
  return
}
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_load_packets(%words: !llvm.ptr) -> (i32, i32, i32, i32)
func.func private @ark_are_packets_stale(%a: i32, %b: i32, %c: i32, %d: i32, %tag: i32) -> i1
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// Rows are strided: each thread skips the gaps, and the values have the same strides.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [24], strides: [1]
// CHECK: call @ark_receive_bf16_16_8_16_16_8_16(
// CHECK-LABEL: func.func private @ark_receive_bf16_16_8_16_16_8_16(
// CHECK: %[[LOAD:.+]] = arith.minui
// CHECK: %[[BYTES:.+]] = arith.muli %[[LOAD]], %c16
// CHECK: %[[ROW:.+]] = arith.divui %[[LOAD]], %c2
// CHECK: %[[GAPS:.+]] = arith.muli %[[ROW]], %c32
// CHECK: arith.addi %[[BYTES]], %[[GAPS]]
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %p: memref<2x8xi32, strided<[16, 1], offset: ?>> {ark.packets}) {
  %all = memref.alloca() : memref<24xbf16>
  %v = memref.reinterpret_cast %all to offset: [0], sizes: [2, 8], strides: [16, 1] : memref<24xbf16> to memref<2x8xbf16, strided<[16, 1]>>
  ark.receive_packets %p to %v : memref<2x8xi32, strided<[16, 1], offset: ?>> to memref<2x8xbf16, strided<[16, 1]>>
  return
}
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_load_packets(%words: !llvm.ptr) -> (i32, i32, i32, i32)
func.func private @ark_are_packets_stale(%a: i32, %b: i32, %c: i32, %d: i32, %tag: i32) -> i1
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// The rest of the body does not change.
// CHECK-LABEL: func.func private @body(
// CHECK-NEXT: return
// CHECK-NOT: func.func private @ark_receive
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>) {
  return
}

// -----

// A load holds two packets of f32.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [6], strides: [1]
// CHECK: call @ark_receive_f32_6_6(
// CHECK-LABEL: func.func private @ark_receive_f32_6_6(
// CHECK: %[[LAST:.+]] = arith.constant 2 : index
// CHECK: %[[LOAD:.+]] = arith.minui %{{.+}}, %[[LAST]]
// CHECK: arith.muli %[[LOAD]], %c16
// CHECK: scf.while
// CHECK: %[[WORDS:.+]]:2 = scf.if
// CHECK: func.call @ark_load_wide_packets(%{{.+}}) : (!llvm.ptr) -> (i64, i64)
// CHECK: %[[MISS:.+]] = func.call @ark_are_wide_packets_stale(%[[WORDS]]#0, %[[WORDS]]#1, %{{.+}})
// CHECK: %[[UPPER:.+]] = arith.shrui %[[WORDS]]#0, %c32_i64
// CHECK: %[[SEEN:.+]] = arith.trunci %[[UPPER]] : i64 to i32
// CHECK: func.call @ark_packets_wait(%{{.+}}, %{{.+}}, %{{.+}}, %[[SEEN]])
// CHECK: scf.condition(%{{.+}}) %{{.+}}, %[[MISS]], %[[WORDS]]#0, %[[WORDS]]#1 : i32, i1, i64, i64
// CHECK: scf.if
// CHECK:   llvm.store %{{.+}} : i64, !llvm.ptr
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<2x3xi64> {ark.packets}) {
  %v = memref.alloca() : memref<2x3xf32>
  ark.receive_packets %p to %v : memref<2x3xi64> to memref<2x3xf32>
  return
}
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_load_wide_packets(%words: !llvm.ptr) -> (i64, i64)
func.func private @ark_are_wide_packets_stale(%a: i64, %b: i64, %tag: i32) -> i1
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1

// -----

// 256 packets, eight threads with eight loads each: all are reloaded, without a branch per load.
// CHECK-LABEL: func.func private @ark_receive_bf16_256_256(
// CHECK: scf.while
// CHECK-NOT: scf.if
// CHECK-COUNT-8: func.call @ark_load_packets
// CHECK-NOT: scf.if
// CHECK: func.call @ark_packets_poll
// CHECK-COUNT-8: func.call @ark_are_packets_stale
// CHECK: scf.condition
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 1024 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<1x256xi32> {ark.packets}) {
  %v = memref.alloca() : memref<1x256xbf16>
  ark.receive_packets %p to %v : memref<1x256xi32> to memref<1x256xbf16>
  return
}
func.func private @ark_packet_tag() -> i32
func.func private @ark_now() -> i64
func.func private @ark_load_packets(%words: !llvm.ptr) -> (i32, i32, i32, i32)
func.func private @ark_are_packets_stale(%a: i32, %b: i32, %c: i32, %d: i32, %tag: i32) -> i1
func.func private @ark_packets_poll()
func.func private @ark_packets_wait(%missing: i1, %tries: i32, %begin: i64, %seen: i32) -> i1
