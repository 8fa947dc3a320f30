// RUN: ark-opt %s --split-input-file --ark-hoist-invariants | FileCheck %s

// What all vCTAs share is done once, before their loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: linalg.exp
// CHECK-NEXT: scf.for
// CHECK-NOT: linalg.exp
// CHECK: linalg.copy
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    %ys = memref.subview %y[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %ts = memref.subview %t[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.copy ins(%ts : memref<1xf32, strided<[1], offset: ?>>) outs(%ys : memref<1xf32, strided<[1], offset: ?>>)
  }
  return
}

// -----

// Step by step, in order.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: linalg.exp
// CHECK-NEXT: linalg.sqrt
// CHECK-NEXT: scf.for
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    linalg.sqrt ins(%t : memref<8xf32>) outs(%t : memref<8xf32>)
    %ys = memref.subview %y[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %ts = memref.subview %t[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.copy ins(%ts : memref<1xf32, strided<[1], offset: ?>>) outs(%ys : memref<1xf32, strided<[1], offset: ?>>)
  }
  return
}

// -----

// What the vCTA itself adds to the temporary keeps it inside.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: linalg.exp
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    %ys = memref.subview %y[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %ts = memref.subview %t[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.copy ins(%ts : memref<1xf32, strided<[1], offset: ?>>) outs(%ys : memref<1xf32, strided<[1], offset: ?>>)
    linalg.fill ins(%f : f32) outs(%ts : memref<1xf32, strided<[1], offset: ?>>)
  }
  return
}

// -----

// A result that is no temporary is what others wait for, vCTA by vCTA.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK-NEXT: linalg.exp
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%y : memref<8xf32>)
  }
  return
}

// -----

// It reads what a vCTA writes.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: linalg.exp
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%y : memref<8xf32>) outs(%t : memref<8xf32>)
    %ys = memref.subview %y[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %ts = memref.subview %t[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.copy ins(%ts : memref<1xf32, strided<[1], offset: ?>>) outs(%ys : memref<1xf32, strided<[1], offset: ?>>)
  }
  return
}

// -----

// The temporary is used for something else before.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: linalg.exp
// CHECK: linalg.copy
// CHECK: linalg.sqrt
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    %ys = memref.subview %y[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %ts = memref.subview %t[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.copy ins(%ts : memref<1xf32, strided<[1], offset: ?>>) outs(%ys : memref<1xf32, strided<[1], offset: ?>>)
    linalg.sqrt ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
  }
  return
}

// -----

// What it reads is written, if by another kind of op.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: linalg.exp
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    %ys = memref.subview %y[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %ts = memref.subview %t[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    linalg.copy ins(%ts : memref<1xf32, strided<[1], offset: ?>>) outs(%ys : memref<1xf32, strided<[1], offset: ?>>)
    memref.store %f, %x[%v] : memref<8xf32>
  }
  return
}

// -----

// Its body uses a number of the vCTA.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    %n = arith.index_cast %v : index to i32
    %number = arith.sitofp %n : i32 to f32
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%t : memref<8xf32>) {
    ^bb0(%out: f32):
      linalg.yield %number : f32
    }
  }
  return
}

// -----

// A number is read of the temporary before it is used for something else.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: memref.load
// CHECK: linalg.sqrt
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    %ys = memref.subview %y[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %ts = memref.subview %t[%v] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
    %n = memref.load %t[%v] : memref<8xf32>
    linalg.fill ins(%n : f32) outs(%ys : memref<1xf32, strided<[1], offset: ?>>)
    linalg.sqrt ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
  }
  return
}

// -----

// What is done besides, a call that is given a buffer among it, does not keep what
// it does not touch.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: linalg.exp
// CHECK-NEXT: scf.for
// CHECK: func.call @report
func.func private @report(%status: memref<4xi64>, %index: index)
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    %beyond = arith.cmpi uge, %v, %c8 : index
    scf.if %beyond {
      func.call @report(%status, %v) : (memref<4xi64>, index) -> ()
    }
    %e = memref.load %t[%v] : memref<8xf32>
    memref.store %e, %y[%v] : memref<8xf32>
  }
  return
}

// -----

// Nothing is known of what lies behind a pointer.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: linalg.exp
func.func private @touch(%p: !llvm.ptr)
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %p: !llvm.ptr) {
  %c1 = arith.constant 1 : index
  %t = memref.alloca() : memref<8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.exp ins(%x : memref<8xf32>) outs(%t : memref<8xf32>)
    func.call @touch(%p) : (!llvm.ptr) -> ()
  }
  return
}

// -----

// A number that all vCTAs read, such as a length, is loaded once; one that they write, every time.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[N:[^:]+]]: memref<index> {llvm.noalias}, %[[M:[^:]+]]: memref<index> {llvm.noalias}
// CHECK: memref.load %[[N]][]
// CHECK-NOT: memref.load
// CHECK: scf.for
// CHECK-NOT: memref.load %[[N]][]
// CHECK: memref.load %[[M]][]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %n: memref<index> {llvm.noalias}, %m: memref<index> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    %a = memref.load %n[] : memref<index>
    %b = memref.load %m[] : memref<index>
    %c = arith.addi %a, %b : index
    memref.store %c, %m[] : memref<index>
  }
  return
}
