// RUN: ark-opt %s --split-input-file '--ark-map-to-threads=threads=64 warp-size=32' | FileCheck %s

// With bounds of 0, of -1 and of 2^63 - 1, a loop has no iterations or more than can be counted.
// CHECK-LABEL: func.func private @body
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x64xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %odd = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%odd) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<8x64xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// CHECK-LABEL: func.func private @body
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x64xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %odd = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%odd) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<8x64xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// CHECK-LABEL: func.func private @body
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x64xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %odd = arith.constant -1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%odd) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<8x64xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// CHECK-LABEL: func.func private @body
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x64xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %odd = arith.constant -1 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%odd) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<8x64xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// CHECK-LABEL: func.func private @body
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x64xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %odd = arith.constant 9223372036854775807 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%odd) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%odd) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<8x64xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<8xf32>
    scf.reduce
  }
  return
}
