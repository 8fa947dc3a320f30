// RUN: ark-opt %s --split-input-file --ark-widen-elements=threads=64 --cse --canonicalize | FileCheck %s

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// A thread computes eight neighbouring elements: their operands are one load,
// or two of 16 bytes, and a shared operand is loaded once.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x64xf16> {{{.+}}}, %[[B:[a-z0-9]+]]: memref<64xf32> {{{.+}}}, %[[R:[a-z0-9]+]]: memref<64xf32> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<64x64xf16>
// CHECK: scf.parallel (%[[M:.+]], %[[I:.+]]) = (%c0, %c0) to (%c64, %c8) step (%c1, %c1) {
// CHECK: %[[N:.+]] = arith.muli %[[I]], %c8
// CHECK: vector.load %[[X]][%[[M]], %[[N]]] {alignment = 16 : i64} : memref<64x64xf16>, vector<8xf16>
// CHECK: vector.load %[[B]][%[[N]]] {alignment = 16 : i64} : memref<64xf32>, vector<8xf32>
// CHECK: memref.load %[[R]][%[[M]]]
// CHECK-COUNT-8: arith.truncf
// CHECK-NOT: {{truncf|memref.load}}
// CHECK: vector.store %{{.+}}, %[[Y]][%[[M]], %[[N]]] {alignment = 16 : i64} : memref<64x64xf16>, vector<8xf16>
// CHECK-NOT: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x64xf16> {llvm.align = 16 : i64}, %b: memref<64xf32> {llvm.align = 16 : i64}, %r: memref<64xf32> {llvm.align = 16 : i64}, %y: memref<64x64xf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    %0 = memref.load %x[%i, %j] : memref<64x64xf16>
    %1 = memref.load %b[%j] : memref<64xf32>
    %2 = memref.load %r[%i] : memref<64xf32>
    %3 = arith.extf %0 : f16 to f32
    %4 = arith.addf %3, %1 : f32
    %5 = arith.mulf %4, %2 : f32
    %6 = arith.truncf %5 : f32 to f16
    memref.store %6, %y[%i, %j] : memref<64x64xf16>
    scf.reduce
  }
  return
}

// -----

// The width keeps all threads busy: 192 elements for 64 threads are computed four at a
// time in three rounds, or eight at a time in two. Of 64 elements, each thread has one.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: vector.load {{.+}}, vector<4xf32>
// CHECK: vector.store {{.+}}, vector<4xf32>
// CHECK: memref.load
// CHECK: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<256xf32> {llvm.align = 16 : i64}, %y: memref<256xf32> {llvm.align = 16 : i64}, %z: memref<256xf32> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c192 = arith.constant 192 : index
  scf.parallel (%j) = (%c0) to (%c192) step (%c1) {
    %0 = memref.load %x[%j] : memref<256xf32>
    memref.store %0, %y[%j] : memref<256xf32>
    scf.reduce
  }
  scf.parallel (%j) = (%c0) to (%c64) step (%c1) {
    %0 = memref.load %x[%j] : memref<256xf32>
    memref.store %0, %z[%j] : memref<256xf32>
    scf.reduce
  }
  return
}

// -----

// The pass does not change loops over unaligned rows, columns, single bits, packets, an odd extent, a dynamic
// extent, and a loop inside of another one.
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
    %x: memref<64x65xf16> {llvm.align = 16 : i64}, %y: memref<64x64xf16> {llvm.align = 16 : i64}, %p: memref<64x64xi1> {llvm.align = 16 : i64},
    %w: memref<64x64xi32> {llvm.align = 16 : i64, ark.packets}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c63 = arith.constant 63 : index
  %zero = arith.constant 0.0 : f16
  %yes = arith.constant true
  %number = arith.constant 7 : i32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    memref.store %zero, %x[%i, %j] : memref<64x65xf16>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    memref.store %zero, %y[%j, %i] : memref<64x64xf16>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    memref.store %yes, %p[%i, %j] : memref<64x64xi1>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c64) step (%c1, %c1) {
    memref.store %number, %w[%i, %j] : memref<64x64xi32>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %c63) step (%c1, %c1) {
    memref.store %zero, %y[%i, %j] : memref<64x64xf16>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c64, %end) step (%c1, %c1) {
    memref.store %zero, %y[%i, %j] : memref<64x64xf16>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    scf.parallel (%j) = (%c0) to (%c64) step (%c1) {
      memref.store %zero, %y[%i, %j] : memref<64x64xf16>
      scf.reduce
    }
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
// Stores of f32 to global memory have four elements, so that a warp fills whole sectors of 32 bytes with one instruction.
// Eight elements would be two instructions with half of each sector. Temporaries, in shared memory, have no such limit.
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel (%{{.+}}, %{{.+}}) = (%c0, %c0) to (%c64, %c32) step (%c1, %c1) {
// CHECK: vector.load {{.+}} : memref<64x128xbf16>, vector<4xbf16>
// CHECK: vector.store {{.+}} : memref<64x128xf32>, vector<4xf32>
// CHECK: scf.parallel (%{{.+}}, %{{.+}}) = (%c0, %c0) to (%c64, %c16) step (%c1, %c1) {
// CHECK: vector.load {{.+}} : memref<64x128xbf16>, vector<8xbf16>
// CHECK: vector.store {{.+}} : memref<64x128xf32>, vector<8xf32>
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c128 = arith.constant 128 : index
  %t = memref.alloca() {alignment = 64 : i64} : memref<64x128xf32>
  scf.for %i = %begin to %end step %c1 {
    scf.parallel (%m, %n) = (%c0, %c0) to (%c64, %c128) step (%c1, %c1) {
      %a = memref.load %x[%m, %n] : memref<64x128xbf16>
      %b = arith.extf %a : bf16 to f32
      memref.store %b, %y[%m, %n] : memref<64x128xf32>
      scf.reduce
    }
    scf.parallel (%m, %n) = (%c0, %c0) to (%c64, %c128) step (%c1, %c1) {
      %a = memref.load %x[%m, %n] : memref<64x128xbf16>
      %b = arith.extf %a : bf16 to f32
      memref.store %b, %t[%m, %n] : memref<64x128xf32>
      scf.reduce
    }
  }
  return
}
