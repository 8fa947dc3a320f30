// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-use-tensor-cores | FileCheck %s

// Half of the warpgroups multiply, with accumulators of 128 columns, and the other half only copies. The warpgroups of
// each half have a loop and a barrier of their own.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: nvvm.cp.async.shared.global
// CHECK: %[[GROUP:.+]] = arith.divui %[[THREAD]], %c128
// CHECK-NEXT: arith.constant 2 : index
// CHECK-NEXT: %[[OWNER:.+]] = arith.cmpi ult, %[[GROUP]], %c2
// CHECK-NEXT: scf.if %[[OWNER]] {
// CHECK: scf.for {{.+}} to %c1024{{.*}} step %c64
// CHECK: gpu.barrier
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 128, k = 16>
// CHECK-COUNT-4: nvvm.cp.async.shared.global
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NEXT: gpu.barrier
// CHECK: vector.store
// CHECK: } else {
// CHECK-NOT: nvvm.wgmma
// CHECK: scf.for {{.+}} to %c1024{{.*}} step %c64
// CHECK: gpu.barrier
// CHECK-NOT: nvvm.wgmma
// CHECK-COUNT-4: nvvm.cp.async.shared.global
// CHECK: scf.yield
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: }
// CHECK-NOT: vector.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x1024xbf16>, memref<128x1024xbf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%y : memref<128x128xbf16>) {
      ^bb0(%a: f32, %b: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      }
  }
  return
}
