// RUN: ark-opt %s --split-input-file --ark-widen-elements=threads=64 --cse --canonicalize | FileCheck %s

// A work item has a number of vCTAs that is known at run time only. Accesses are coalesced: 16 bytes of f32 for each
// thread, and not 32 bytes in two instructions.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
// CHECK: scf.parallel (%{{.+}}, %{{.+}}) = (%[[BEGIN]], %c0) to (%[[END]], %c128) step (%c1, %c1) {
// CHECK: vector.load %{{.+}} : memref<64x512xf32>, vector<4xf32>
// CHECK: vector.store %{{.+}} : memref<64x512xbf16>, vector<4xbf16>
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x512xf32> {llvm.align = 16 : i64}, %y: memref<64x512xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  scf.parallel (%i, %j) = (%begin, %c0) to (%end, %c512) step (%c1, %c1) {
    %0 = memref.load %x[%i, %j] : memref<64x512xf32>
    %1 = arith.truncf %0 : f32 to bf16
    memref.store %1, %y[%i, %j] : memref<64x512xbf16>
    scf.reduce
  }
  return
}

// -----

// One vCTA has no more elements than there are threads: each thread keeps one element.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.load
// CHECK-NOT: vector.load
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x64xf32> {llvm.align = 16 : i64}, %y: memref<64x64xf32> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%begin, %c0) to (%end, %c64) step (%c1, %c1) {
    %0 = memref.load %x[%i, %j] : memref<64x64xf32>
    %1 = arith.addf %0, %0 : f32
    memref.store %1, %y[%i, %j] : memref<64x64xf32>
    scf.reduce
  }
  return
}
