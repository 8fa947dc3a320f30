// Unroll-and-jam under register pressure: one thread loads operands for several results at once.
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a --ark-map-to-threads | FileCheck %s

// Every result needs the rows of %x. Eight vectors of all four rows exceed the
// registers, so that they are loaded one at a time and not kept.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-COUNT-8: vector.load %{{.+}} : memref<4096x2048xbf16>, vector<8xbf16>
// CHECK: %[[FIRST:.+]] = llvm.inline_asm has_side_effects "bar.warp.sync 0xffffffff; mov.b64 $0, $1;", "=l,l" %{{.+}} : (i64) -> i64
// CHECK-NEXT: %[[K:.+]] = arith.index_cast %[[FIRST]] : i64 to index
// CHECK-COUNT-4: vector.load %{{.+}}[%{{.+}}, %[[K]]] {alignment = 16 : i64} : memref<4x2048xbf16>, vector<8xbf16>
// CHECK-NOT: vector.load
// CHECK: arith.mulf
// CHECK-COUNT-7: llvm.inline_asm
// CHECK-NOT: llvm.inline_asm
// CHECK: gpu.shuffle xor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<4096x2048xbf16> {llvm.align = 16 : i64}, %x: memref<4x2048xbf16> {llvm.align = 16 : i64}, %y: memref<4x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %rows = arith.constant 16 : index
  %cols = arith.constant 2048 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sums:4 = scf.parallel (%k) = (%c0) to (%cols) step (%c1) init (%zero, %zero, %zero, %zero) -> (f32, f32, f32, f32) {
      %wb = memref.load %w[%i, %k] : memref<4096x2048xbf16>
      %wf = arith.extf %wb : bf16 to f32
      %b0 = memref.load %x[%c0, %k] : memref<4x2048xbf16>
      %f0 = arith.extf %b0 : bf16 to f32
      %p0 = arith.mulf %wf, %f0 : f32
      %b1 = memref.load %x[%c1, %k] : memref<4x2048xbf16>
      %f1 = arith.extf %b1 : bf16 to f32
      %p1 = arith.mulf %wf, %f1 : f32
      %b2 = memref.load %x[%c2, %k] : memref<4x2048xbf16>
      %f2 = arith.extf %b2 : bf16 to f32
      %p2 = arith.mulf %wf, %f2 : f32
      %b3 = memref.load %x[%c3, %k] : memref<4x2048xbf16>
      %f3 = arith.extf %b3 : bf16 to f32
      %p3 = arith.mulf %wf, %f3 : f32
      scf.reduce(%p0, %p1, %p2, %p3 : f32, f32, f32, f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sums#0, %y[%c0, %i] : memref<4x4096xf32>
    memref.store %sums#1, %y[%c1, %i] : memref<4x4096xf32>
    memref.store %sums#2, %y[%c2, %i] : memref<4x4096xf32>
    memref.store %sums#3, %y[%c3, %i] : memref<4x4096xf32>
    scf.reduce
  }
  return
}

// -----

// One row of %x fits beside the weights.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: llvm.inline_asm
// CHECK-COUNT-16: vector.load
// CHECK: gpu.shuffle xor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<4096x2048xbf16> {llvm.align = 16 : i64}, %x: memref<1x2048xbf16> {llvm.align = 16 : i64}, %y: memref<4x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %rows = arith.constant 16 : index
  %cols = arith.constant 2048 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sums = scf.parallel (%k) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %wb = memref.load %w[%i, %k] : memref<4096x2048xbf16>
      %wf = arith.extf %wb : bf16 to f32
      %b0 = memref.load %x[%c0, %k] : memref<1x2048xbf16>
      %f0 = arith.extf %b0 : bf16 to f32
      %p0 = arith.mulf %wf, %f0 : f32
      scf.reduce(%p0 : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sums, %y[%c0, %i] : memref<4x4096xf32>
    scf.reduce
  }
  return
}

// -----

// None of the rows stays in the L1, so a late load would stall for long.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: llvm.inline_asm
// CHECK-COUNT-40: vector.load
// CHECK: gpu.shuffle xor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<4096x2048xbf16> {llvm.align = 16 : i64}, %x: memref<4096x2048xbf16> {llvm.align = 16 : i64}, %y: memref<4x4096xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %rows = arith.constant 16 : index
  %cols = arith.constant 2048 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sums:4 = scf.parallel (%k) = (%c0) to (%cols) step (%c1) init (%zero, %zero, %zero, %zero) -> (f32, f32, f32, f32) {
      %wb = memref.load %w[%i, %k] : memref<4096x2048xbf16>
      %wf = arith.extf %wb : bf16 to f32
      %b0 = memref.load %x[%c0, %k] : memref<4096x2048xbf16>
      %f0 = arith.extf %b0 : bf16 to f32
      %p0 = arith.mulf %wf, %f0 : f32
      %b1 = memref.load %x[%c1, %k] : memref<4096x2048xbf16>
      %f1 = arith.extf %b1 : bf16 to f32
      %p1 = arith.mulf %wf, %f1 : f32
      %b2 = memref.load %x[%c2, %k] : memref<4096x2048xbf16>
      %f2 = arith.extf %b2 : bf16 to f32
      %p2 = arith.mulf %wf, %f2 : f32
      %b3 = memref.load %x[%c3, %k] : memref<4096x2048xbf16>
      %f3 = arith.extf %b3 : bf16 to f32
      %p3 = arith.mulf %wf, %f3 : f32
      scf.reduce(%p0, %p1, %p2, %p3 : f32, f32, f32, f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sums#0, %y[%c0, %i] : memref<4x4096xf32>
    memref.store %sums#1, %y[%c1, %i] : memref<4x4096xf32>
    memref.store %sums#2, %y[%c2, %i] : memref<4x4096xf32>
    memref.store %sums#3, %y[%c3, %i] : memref<4x4096xf32>
    scf.reduce
  }
  return
}
