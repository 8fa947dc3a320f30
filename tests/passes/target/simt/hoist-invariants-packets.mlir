// RUN: ark-opt %s --split-input-file --ark-hoist-invariants | FileCheck %s

// Packets that all vCTAs of a work item read are received once, also through views of shared packets.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[ROW:.+]] = memref.subview
// CHECK: ark.receive_packets %[[ROW]] to %{{.+}} :
// CHECK: scf.for
// CHECK-NOT: ark.receive_packets
// CHECK: linalg.copy
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<4x16xi32> {ark.packets, llvm.noalias}, %y: memref<4x16xbf16> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %t = memref.alloca() : memref<1x16xbf16>
  scf.for %v = %begin to %end step %c1 {
    %row = memref.subview %p[0, 0] [1, 16] [1, 1] : memref<4x16xi32> to memref<1x16xi32, strided<[16, 1]>>
    ark.receive_packets %row to %t : memref<1x16xi32, strided<[16, 1]>> to memref<1x16xbf16>
    %ys = memref.subview %y[%v, 0] [1, 16] [1, 1] : memref<4x16xbf16> to memref<1x16xbf16, strided<[16, 1], offset: ?>>
    linalg.copy ins(%t : memref<1x16xbf16>) outs(%ys : memref<1x16xbf16, strided<[16, 1], offset: ?>>)
  }
  return
}

// -----

// Each vCTA receives its own packets.
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: ark.receive_packets
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<4x16xi32> {ark.packets, llvm.noalias}, %y: memref<4x16xbf16> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %t = memref.alloca() : memref<1x16xbf16>
  scf.for %v = %begin to %end step %c1 {
    %row = memref.subview %p[%v, 0] [1, 16] [1, 1] : memref<4x16xi32> to memref<1x16xi32, strided<[16, 1], offset: ?>>
    ark.receive_packets %row to %t : memref<1x16xi32, strided<[16, 1], offset: ?>> to memref<1x16xbf16>
    %ys = memref.subview %y[%v, 0] [1, 16] [1, 1] : memref<4x16xbf16> to memref<1x16xbf16, strided<[16, 1], offset: ?>>
    linalg.copy ins(%t : memref<1x16xbf16>) outs(%ys : memref<1x16xbf16, strided<[16, 1], offset: ?>>)
  }
  return
}

// -----

// The vCTA overwrites the temporary, so each vCTA receives it again.
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: ark.receive_packets
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>, packets = 256 : i64}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %p: memref<1x16xi32> {ark.packets, llvm.noalias}, %y: memref<4x16xbf16> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : bf16
  %t = memref.alloca() : memref<1x16xbf16>
  scf.for %v = %begin to %end step %c1 {
    ark.receive_packets %p to %t : memref<1x16xi32> to memref<1x16xbf16>
    %ys = memref.subview %y[%v, 0] [1, 16] [1, 1] : memref<4x16xbf16> to memref<1x16xbf16, strided<[16, 1], offset: ?>>
    linalg.copy ins(%t : memref<1x16xbf16>) outs(%ys : memref<1x16xbf16, strided<[16, 1], offset: ?>>)
    %ts = memref.subview %t[0, %v] [1, 1] [1, 1] : memref<1x16xbf16> to memref<1x1xbf16, strided<[16, 1], offset: ?>>
    linalg.fill ins(%f : bf16) outs(%ts : memref<1x1xbf16, strided<[16, 1], offset: ?>>)
  }
  return
}
