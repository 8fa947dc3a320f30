// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores=threads=128 | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Four warps and rows of 1024: each warp has a quarter of the depth, eight k-chunks, and issues the loads of
// all chunks of 16 rows at once. 32 rows take two iterations: while a warp multiplies a chunk of the first 16
// rows, it loads the same chunk of the next 16. It stores its accumulators at the end of each iteration.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[PARTS:.+]] = memref.alloca() {{.+}} : memref<4x8x36xf32>
// CHECK: scf.for
// CHECK: scf.forall (%{{.+}}) in (128) {
// CHECK-COUNT-16: llvm.inline_asm {{.+}}ld.global
// CHECK-NOT: llvm.inline_asm
// CHECK: %[[LAST:.+]]:16 = scf.for %[[TURN:.+]] = %c1{{.*}} to %c2{{.*}} step %c1{{.*}} iter_args(
// CHECK: arith.muli %[[TURN]], %c16
// CHECK: nvvm.mma.sync
// CHECK: nvvm.mma.sync
// CHECK: llvm.inline_asm {{.+}}ld.global
// CHECK: llvm.inline_asm {{.+}}ld.global
// CHECK-COUNT-14: nvvm.mma.sync
// CHECK-COUNT-2: llvm.inline_asm
// CHECK-NOT: llvm.inline_asm
// CHECK: %[[BEFORE:.+]] = arith.subi %[[TURN]], %c1
// CHECK: arith.muli %[[BEFORE]], %c16
// CHECK-COUNT-4: memref.store %{{.+}}, %[[PARTS]]
// CHECK: scf.yield
// CHECK: vector.extract %[[LAST]]#0
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-COUNT-4: memref.store %{{.+}}, %[[PARTS]]
// CHECK-NOT: memref.store %{{.+}}, %[[PARTS]]
// CHECK: memref.subview %[[PARTS]][0, 0, 0] [4, 8, 32] [1, 1, 1]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<32x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %near = memref.alloca() {alignment = 64 : i64} : memref<8x1024xbf16>
  memref.copy %x, %near : memref<8x1024xbf16> to memref<8x1024xbf16>
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%near, %w : memref<8x1024xbf16>, memref<32x1024xbf16>) outs(%y : memref<8x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// With rows of 8192, four warps have fewer than 16 rows in flight: there is only one iteration.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.alloca() {{.+}} : memref<2x8x36xf32>
// CHECK: scf.forall
// CHECK: arith.constant 4096
// CHECK: nvvm.mma.sync
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x8192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<32x8192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<8x8192xbf16>, memref<32x8192xbf16>) outs(%y : memref<8x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
  }
  return
}
