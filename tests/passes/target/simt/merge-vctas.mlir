// RUN: ark-opt %s --split-input-file --ark-merge-vctas=warp-size=32 | FileCheck %s

// One loop covers all vCTAs. The last vCTA is clipped: iterations beyond its
// end store nothing.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
// CHECK-NOT: scf.for
// CHECK: %[[THREE:.+]] = arith.constant 3 : index
// CHECK: scf.parallel (%[[V:.+]], %[[I:.+]]) = (%[[BEGIN]], %{{.+}}) to (%[[END]], %[[THREE]])
// CHECK: %[[ROWS:.+]] = affine.min #{{.+}}(%[[V]])
// CHECK: %[[LAST:.+]] = arith.subi %[[ROWS]], %{{.+}}
// CHECK: %[[CLAMPED:.+]] = arith.minsi %[[I]], %[[LAST]]
// CHECK: %[[INSIDE:.+]] = arith.cmpi slt, %[[I]], %[[ROWS]]
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: memref.store %{{.+}}, %{{.+}}[%[[CLAMPED]]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %f = arith.constant 1.0 : f32
  scf.for %v = %begin to %end step %c1 {
    %first = affine.apply affine_map<(d0) -> (d0 * 3)>(%v)
    %rows = affine.min affine_map<(d0) -> (3, d0 * -3 + 8)>(%v)
    %ys = memref.subview %y[%first] [%rows] [1] : memref<8xf32> to memref<?xf32, strided<[1], offset: ?>>
    scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
      memref.store %f, %ys[%i] : memref<?xf32, strided<[1], offset: ?>>
      scf.reduce
    }
  }
  return
}

// -----

// Every vCTA has two loops, one after the other: they are not merged.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f = arith.constant 1.0 : f32
  scf.for %v = %begin to %end step %c1 {
    %first = affine.apply affine_map<(d0) -> (d0 * 3)>(%v)
    %rows = affine.min affine_map<(d0) -> (3, d0 * -3 + 8)>(%v)
    %ys = memref.subview %y[%first] [%rows] [1] : memref<8xf32> to memref<?xf32, strided<[1], offset: ?>>
    scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
      memref.store %f, %ys[%i] : memref<?xf32, strided<[1], offset: ?>>
      scf.reduce
    }
    scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
      memref.store %f, %ys[%i] : memref<?xf32, strided<[1], offset: ?>>
      scf.reduce
    }
  }
  return
}

// -----

// A temporary belongs to one vCTA at a time, so the vCTAs are not merged.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<3xf32>
  scf.for %v = %begin to %end step %c1 {
    %first = affine.apply affine_map<(d0) -> (d0 * 3)>(%v)
    %rows = affine.min affine_map<(d0) -> (3, d0 * -3 + 8)>(%v)
    %ys = memref.subview %y[%first] [%rows] [1] : memref<8xf32> to memref<?xf32, strided<[1], offset: ?>>
    scf.parallel (%i) = (%c0) to (%c3) step (%c1) {
      memref.store %f, %t[%i] : memref<3xf32>
      scf.reduce
    }
  }
  return
}

// -----

// Ops of a vCTA outside of the loop prevent the merge as well.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f = arith.constant 1.0 : f32
  scf.for %v = %begin to %end step %c1 {
    %first = affine.apply affine_map<(d0) -> (d0 * 3)>(%v)
    %rows = affine.min affine_map<(d0) -> (3, d0 * -3 + 8)>(%v)
    %ys = memref.subview %y[%first] [%rows] [1] : memref<8xf32> to memref<?xf32, strided<[1], offset: ?>>
    memref.store %f, %y[%v] : memref<8xf32>
    scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
      memref.store %f, %ys[%i] : memref<?xf32, strided<[1], offset: ?>>
      scf.reduce
    }
  }
  return
}

// -----

// The extent of the loop has no upper bound.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>, %m: memref<8xindex>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f = arith.constant 1.0 : f32
  scf.for %v = %begin to %end step %c1 {
    %first = affine.apply affine_map<(d0) -> (d0 * 3)>(%v)
    %rows = affine.min affine_map<(d0) -> (3, d0 * -3 + 8)>(%v)
    %ys = memref.subview %y[%first] [%rows] [1] : memref<8xf32> to memref<?xf32, strided<[1], offset: ?>>
    %n = memref.load %m[%v] : memref<8xindex>
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      memref.store %f, %y[%i] : memref<8xf32>
      scf.reduce
    }
  }
  return
}

// -----

// A loop over something other than vCTAs may depend on its order.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  scf.for %v = %c0 to %c8 step %c1 {
    scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      memref.store %f, %y[%i] : memref<8xf32>
      scf.reduce
    }
  }
  return
}

// -----

// A single result has work for all threads.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: scf.parallel
// CHECK: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<65536xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = arith.constant 65536 : index
  %zero = arith.constant 0.0 : f32
  scf.for %v = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
      %sum = scf.parallel (%j) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
        %e = memref.load %x[%j] : memref<65536xf32>
        scf.reduce(%e : f32) {
        ^bb0(%a: f32, %b: f32):
          %s = arith.addf %a, %b : f32
          scf.reduce.return %s : f32
        }
      }
      memref.store %sum, %y[%v] : memref<8xf32>
      scf.reduce
    }
  }
  return
}
