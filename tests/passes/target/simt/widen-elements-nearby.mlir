// RUN: ark-opt %s --split-input-file --ark-widen-elements=threads=64 --cse --canonicalize | FileCheck %s

// Neighbours whose elements lie nearby, but not in one aligned access, are loaded one by one. One store writes the
// results. The copy of the windows of a convolution has such loads.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x136xf16> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<64x64xf16>
// CHECK: scf.parallel (%[[M:.+]], %[[I:.+]]) = (%c0, %c0) to (%c64, %c8)
// CHECK-COUNT-8: memref.load %[[X]][%[[M]], %{{.+}}] : memref<64x136xf16>
// CHECK-NOT: memref.load
// CHECK: vector.store %{{.+}}, %[[Y]][%[[M]], %{{.+}}] {alignment = 16 : i64} : memref<64x64xf16>, vector<8xf16>
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x136xf16> {llvm.align = 16 : i64}, %y: memref<64x64xf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %k = affine.apply affine_map<(d0) -> (d0 * 2 + 3)>(%j)
    %0 = memref.load %x[%i, %k] : memref<64x136xf16>
    memref.store %0, %y[%i, %j] : memref<64x64xf16>
    scf.reduce
  }
  return
}

// -----

// The column of each load is the sum of the position of the window and of the position in the window.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel (%{{.+}}, %{{.+}}) = (%c0, %c0) to (%c3, %c64)
// CHECK-COUNT-4: memref.load
// CHECK: vector.store {{.+}} : memref<3x256xf16>, vector<4xf16>
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<258xf16> {llvm.align = 16 : i64}, %y: memref<3x256xf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c256 = arith.constant 256 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c3, %c256) step (%c1, %c1) {
    %k = affine.apply affine_map<(d0, d1) -> (d0 + d1)>(%i, %j)
    %0 = memref.load %x[%k] : memref<258xf16>
    memref.store %0, %y[%i, %j] : memref<3x256xf16>
    scf.reduce
  }
  return
}

// -----

// Elements that are three apart, elements of a column, and elements at an index from memory are not nearby. Threads then
// access neighbouring elements.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: vector.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x192xf16> {llvm.align = 16 : i64}, %p: memref<64xi32> {llvm.align = 16 : i64}, %y: memref<64x64xf16> {llvm.align = 16 : i64},
    %z: memref<64x64xf16> {llvm.align = 16 : i64}, %u: memref<64x64xf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %k = affine.apply affine_map<(d0) -> (d0 * 3)>(%j)
    %0 = memref.load %x[%i, %k] : memref<64x192xf16>
    memref.store %0, %y[%i, %j] : memref<64x64xf16>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %0 = memref.load %x[%j, %i] : memref<64x192xf16>
    memref.store %0, %z[%i, %j] : memref<64x64xf16>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %0 = memref.load %p[%j] : memref<64xi32>
    %k = arith.index_cast %0 : i32 to index
    %1 = memref.load %x[%i, %k] : memref<64x192xf16>
    memref.store %1, %u[%i, %j] : memref<64x64xf16>
    scf.reduce
  }
  return
}
