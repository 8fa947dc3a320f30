// RUN: ark-opt %s --split-input-file --ark-widen-elements=threads=64 --cse --canonicalize | FileCheck %s

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// A loop inside carries the values of four neighbours. The row that it reads is the same for all of them.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<32x64xf32> {{{.+}}}, %[[ROWS:[a-z0-9]+]]: memref<?xi32>, %[[Y:[a-z0-9]+]]: memref<64x64xf32>
// CHECK: scf.parallel (%[[M:.+]], %[[I:.+]]) = (%c0, %c0) to (%c64, %c16) step (%c1, %c1) {
// CHECK: %[[N:.+]] = arith.muli %[[I]], %c4
// CHECK: %[[SUMS:.+]]:4 = scf.for %[[K:.+]] = %c0 to %{{.+}} step %c1 iter_args({{.*}}) -> (f32, f32, f32, f32)
// CHECK: %[[ROW:.+]] = memref.load %[[ROWS]][%[[K]]]
// CHECK: %[[R:.+]] = arith.index_cast %[[ROW]]
// CHECK-NOT: memref.load
// CHECK: vector.load %[[X]][%[[R]], %[[N]]] {alignment = 16 : i64} : memref<32x64xf32>, vector<4xf32>
// CHECK-COUNT-4: arith.addf
// CHECK-NOT: arith.addf
// CHECK: scf.yield
// CHECK: %[[V:.+]] = vector.from_elements %[[SUMS]]#0, %[[SUMS]]#1, %[[SUMS]]#2, %[[SUMS]]#3
// CHECK: vector.store %[[V]], %[[Y]][%[[M]], %[[N]]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<32x64xf32> {llvm.align = 16 : i64}, %rows: memref<?xi32>, %y: memref<64x64xf32> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %i step %c1 iter_args(%partial = %zero) -> (f32) {
      %0 = memref.load %rows[%k] : memref<?xi32>
      %row = arith.index_cast %0 : i32 to index
      %1 = memref.load %x[%row, %j] : memref<32x64xf32>
      %2 = arith.addf %partial, %1 : f32
      scf.yield %2 : f32
    }
    memref.store %sum, %y[%i, %j] : memref<64x64xf32>
    scf.reduce
  }
  return
}

// -----

// The pass does not change loops with a number of iterations that differs between neighbours, and loops that store, also
// in a branch or in another loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: vector.
// CHECK-COUNT-7: memref.store
// CHECK-NOT: vector.
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x64xf32> {llvm.align = 16 : i64}, %y: memref<64x64xf32> {llvm.align = 16 : i64}, %z: memref<64x64xf32> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %j step %c1 iter_args(%partial = %zero) -> (f32) {
      %1 = memref.load %x[%k, %j] : memref<64x64xf32>
      %2 = arith.addf %partial, %1 : f32
      scf.yield %2 : f32
    }
    memref.store %sum, %y[%i, %j] : memref<64x64xf32>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    scf.for %k = %c0 to %c64 step %c1 {
      %1 = memref.load %x[%k, %j] : memref<64x64xf32>
      memref.store %1, %y[%i, %j] : memref<64x64xf32>
    }
    memref.store %zero, %z[%i, %j] : memref<64x64xf32>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    scf.for %k = %c0 to %c64 step %c1 {
      %1 = memref.load %x[%k, %j] : memref<64x64xf32>
      %isLess = arith.cmpi ult, %k, %i : index
      scf.if %isLess {
        memref.store %1, %y[%i, %j] : memref<64x64xf32>
      }
    }
    memref.store %zero, %z[%i, %j] : memref<64x64xf32>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    scf.for %k = %c0 to %i step %c1 {
      scf.for %l = %c0 to %i step %c1 {
        %1 = memref.load %x[%l, %j] : memref<64x64xf32>
        memref.store %1, %y[%k, %j] : memref<64x64xf32>
      }
    }
    memref.store %zero, %z[%i, %j] : memref<64x64xf32>
    scf.reduce
  }
  return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// A loop and a branch keep their attributes, such as the mean number of iterations, which the cost model reads.
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: vector.load
// CHECK: } {ark.mean_trips = 3.000000e+00 : f64}
// CHECK: scf.if
// CHECK: vector.store
// CHECK: } {test.branch}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x64xf32> {llvm.align = 16 : i64}, %y: memref<64x64xf32> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %sum = scf.for %k = %c0 to %i step %c1 iter_args(%partial = %zero) -> (f32) {
      %1 = memref.load %x[%k, %j] : memref<64x64xf32>
      %2 = arith.addf %partial, %1 : f32
      scf.yield %2 : f32
    } {ark.mean_trips = 3.000000e+00 : f64}
    %isFirst = arith.cmpi ult, %i, %c1 : index
    scf.if %isFirst {
      memref.store %sum, %y[%i, %j] : memref<64x64xf32>
    } {test.branch}
    scf.reduce
  }
  return
}
