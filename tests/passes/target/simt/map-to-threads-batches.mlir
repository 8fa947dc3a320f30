// RUN: ark-opt %s --split-input-file '--ark-map-to-threads=threads=64 warp-size=32' --canonicalize --cse | FileCheck %s

// A work item has a number of vCTAs that is known at run time only. A thread loads the operands of eight iterations before
// it stores a result. A second loop executes the remaining iterations.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: %[[END:.+]] = arith.subi %{{.+}}, %c448
// CHECK: %[[REST:.+]] = scf.for %[[N:.+]] = %[[THREAD]] to %[[END]] step %c512{{.*}} iter_args(%{{.+}} = %[[THREAD]]) -> (index) {
// CHECK-COUNT-8: vector.load
// CHECK-NOT: vector.load
// CHECK-COUNT-8: vector.store
// CHECK-NOT: vector.store
// CHECK: %[[NEXT:.+]] = arith.addi %[[N]], %c512
// CHECK: scf.yield %[[NEXT]]
// CHECK: scf.for %{{.+}} = %[[REST]] to %{{.+}} step %c64
// CHECK: vector.load
// CHECK: vector.store
// CHECK-NOT: vector.load
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x256xf32>, %y: memref<64x256xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%begin, %c0) to (%end, %c64) step (%c1, %c1) {
    %k = arith.muli %j, %c4 : index
    %0 = vector.load %x[%i, %k] : memref<64x256xf32>, vector<4xf32>
    %1 = arith.addf %0, %0 : vector<4xf32>
    vector.store %1, %y[%i, %k] : memref<64x256xf32>, vector<4xf32>
    scf.reduce
  }
  return
}

// -----

// A vCTA of few iterations leaves threads without work, so that a work item is short: one loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: memref.load
// CHECK-NOT: memref.load
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x63xf32>, %y: memref<64x63xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c63 = arith.constant 63 : index
  scf.parallel (%i, %j) = (%begin, %c0) to (%end, %c63) step (%c1, %c1) {
    %0 = memref.load %x[%i, %j] : memref<64x63xf32>
    memref.store %0, %y[%i, %j] : memref<64x63xf32>
    scf.reduce
  }
  return
}

// -----

// The operands of one iteration already fill the registers for loads.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: vector.load
// CHECK-NOT: vector.load
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x2048xf32>, %y: memref<64x2048xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c32 = arith.constant 32 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%begin, %c0) to (%end, %c64) step (%c1, %c1) {
    %k = arith.muli %j, %c32 : index
    %0 = vector.load %x[%i, %k] : memref<64x2048xf32>, vector<32xf32>
    vector.store %0, %y[%i, %k] : memref<64x2048xf32>, vector<32xf32>
    scf.reduce
  }
  return
}

// -----

// A tile of 1,024 elements: every thread executes four iterations of four neighbours, which are one batch. No iteration
// remains.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step
// CHECK: scf.for %{{.+}} = %[[THREAD]] to %c64{{.*}} step %c256
// CHECK-COUNT-4: vector.load
// CHECK-NOT: vector.load
// CHECK-COUNT-4: vector.store
// CHECK-NOT: vector.store
// CHECK-NOT: scf.for
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x1024xf32>, %y: memref<64x1024xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c256 = arith.constant 256 : index
  scf.for %i = %begin to %end step %c1 {
    scf.parallel (%j) = (%c0) to (%c256) step (%c1) {
      %k = arith.muli %j, %c4 : index
      %0 = vector.load %x[%i, %k] : memref<64x1024xf32>, vector<4xf32>
      vector.store %0, %y[%i, %k] : memref<64x1024xf32>, vector<4xf32>
      scf.reduce
    }
  }
  return
}

// -----

// A tile of 1,028 elements: one iteration remains for one thread.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[REST:.+]] = scf.for {{.+}} step %c256
// CHECK-COUNT-4: vector.load
// CHECK-COUNT-4: vector.store
// CHECK: scf.for %{{.+}} = %[[REST]] to %c257{{.*}} step %c64
// CHECK: vector.load
// CHECK-NOT: vector.load
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x1028xf32>, %y: memref<64x1028xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c257 = arith.constant 257 : index
  scf.for %i = %begin to %end step %c1 {
    scf.parallel (%j) = (%c0) to (%c257) step (%c1) {
      %k = arith.muli %j, %c4 : index
      %0 = vector.load %x[%i, %k] : memref<64x1028xf32>, vector<4xf32>
      vector.store %0, %y[%i, %k] : memref<64x1028xf32>, vector<4xf32>
      scf.reduce
    }
  }
  return
}

// -----

// A temporary lies in shared memory, whose latency is short: one loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for {{.+}} step %c64
// CHECK: memref.load
// CHECK-NOT: memref.load
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<1024xf32>) {
  %t = memref.alloca() : memref<1024xf32>
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1024 = arith.constant 1024 : index
  scf.for %i = %begin to %end step %c1 {
    scf.parallel (%j) = (%c0) to (%c1024) step (%c1) {
      %0 = memref.load %t[%j] : memref<1024xf32>
      memref.store %0, %y[%j] : memref<1024xf32>
      scf.reduce
    }
  }
  return
}
