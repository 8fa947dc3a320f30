// RUN: ark-opt %s --split-input-file --ark-hoist-invariants | FileCheck %s

// Work that all vCTAs share moves in front of their loop.
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

// Dependent steps move one after the other, and keep their order.
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

// The vCTA adds to the temporary, so its computation stays in the loop.
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

// A write to a result stays, since other lanes wait for it vCTA by vCTA.
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

// The op reads memory that a vCTA writes.
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

// The temporary has another use before.
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

// An op of another kind writes the operand.
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

// The op's body uses the index of the vCTA.
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

// The temporary is read before its other use.
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

// Unrelated ops in the loop, among them a call with a buffer, do not prevent
// hoisting.
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

// The memory behind a pointer is unknown.
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

// A number that all vCTAs read, such as a length, is loaded once. A number that vCTAs write is loaded in every vCTA.
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

// -----

// A task of one vCTA repeats nothing, so that its product stays beside its epilogue.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: linalg.contract
// CHECK-NEXT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x4xf32> {llvm.noalias},
    %w: memref<8x4xf32> {llvm.noalias}, %out: memref<8x8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<8x8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.fill ins(%zero : f32) outs(%t : memref<8x8xf32>)
    linalg.contract indexing_maps = [#x, #w, #y] ins(%x, %w : memref<8x4xf32>, memref<8x4xf32>) outs(%t : memref<8x8xf32>)
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%t : memref<8x8xf32>) outs(%out : memref<8x8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %r = arith.negf %a : f32
      linalg.yield %r : f32
    }
  }
  return
}

// -----

// A quantized product is one, too.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<1x4xf32> {llvm.noalias},
    %w: memref<8x4xf8E4M3FN> {llvm.noalias}, %s: memref<8x1xf32> {llvm.noalias}, %out: memref<1x8xf32> {llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<1x8xf32>
  scf.for %v = %begin to %end step %c1 {
    linalg.fill ins(%zero : f32) outs(%t : memref<1x8xf32>)
    linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w, %s : memref<1x4xf32>, memref<8x4xf8E4M3FN>, memref<8x1xf32>) outs(%t : memref<1x8xf32>) {
    ^bb0(%a: f32, %b: f8E4M3FN, %c: f32, %o: f32):
      %number = arith.extf %b : f8E4M3FN to f32
      %scaled = arith.mulf %number, %c : f32
      %product = arith.mulf %a, %scaled : f32
      %sum = arith.addf %o, %product : f32
      linalg.yield %sum : f32
    }
    linalg.copy ins(%t : memref<1x8xf32>) outs(%out : memref<1x8xf32>)
  }
  return
}
