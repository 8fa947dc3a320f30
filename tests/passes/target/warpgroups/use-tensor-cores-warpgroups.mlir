// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores | FileCheck %s

// Warpgroups compute products of whole tiles.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two columns of eight warps each: a warpgroup has 64 rows and 128 of the 256 columns.
// Four stages of 48 KB fit, and the accumulators reuse this memory at the end. The only reader of the accumulators rounds
// them, so that threads store rounded accumulators.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<128x512xbf16> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<256x512xbf16> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<128x256xbf16>
// CHECK-NOT: memref.alloca
// CHECK: %[[MEMORY:.+]] = memref.alloca() {alignment = 1024 : i64} : memref<98304xbf16>
// CHECK-NOT: memref.alloca
// CHECK: scf.for
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast %[[MEMORY]] to offset: [0], sizes: [128, 256], strides: [264, 1]
// CHECK-NEXT: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[GROUP:.+]] = arith.divui %[[THREAD]], %c128
// CHECK: %[[DOWN:.+]] = arith.remui %[[GROUP]], %c2
// CHECK: arith.muli %[[DOWN]], %c64
// CHECK: %[[ACROSS:.+]] = arith.divui %[[GROUP]], %c2
// CHECK: arith.muli %[[ACROSS]], %c128
// The descriptor: blocks of eight rows are 1024 bytes apart (64 at bit 32), with the 128-byte swizzle (1 at bit 62).
// Its address is opaque, so that no pass computes the descriptor before the loop over the tasks of a lane.
// CHECK: %[[ADDRESS:.+]] = llvm.ptrtoint %{{.+}} : !llvm.ptr<3> to i32
// CHECK: %[[OPAQUE:.+]] = llvm.inline_asm has_side_effects {{.*}}"mov.u32 $0, $1;", "=r,r" %[[ADDRESS]]
// CHECK: %[[WIDE:.+]] = arith.extui %[[OPAQUE]] : i32 to i64
// CHECK: %[[UNITS:.+]] = arith.divui %[[WIDE]]
// CHECK: %[[LAYOUT:.+]] = arith.constant 4611686293305294848 : i64
// CHECK: arith.ori %[[UNITS]], %[[LAYOUT]]
// CHECK: %[[ROW:.+]] = arith.divui %[[THREAD]], %c8
// CHECK: %[[PART:.+]] = arith.remui %[[THREAD]], %c8
// Two stages are copied ahead: each thread copies 16 bytes of six rows.
// CHECK: %[[IN_BLOCK:.+]] = arith.remui %[[ROW]], %c8
// CHECK: arith.xori %[[PART]], %[[IN_BLOCK]]
// CHECK-COUNT-6: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-NOT: nvvm.cp.async
// CHECK: scf.for %[[K:.+]] = %c0{{.*}} to %c512{{.*}} step %c64{{.*}} iter_args(%[[OWN:.+]] = %{{.+}}, %[[STAGE:.+]] = %c0{{.*}}, %[[FREE:.+]] = %c98304{{.*}}) -> (!llvm.struct<({{[f32, ]+}})>, index, index)
// Threads copied the stage through the generic proxy, and wgmma reads it through the async proxy.
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: gpu.barrier
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 128, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>]
// CHECK-NOT: nvvm.wgmma.mma_async
// CHECK: nvvm.wgmma.commit.group.sync.aligned
// The current stage and the previous one may still be read: the copy goes to
// the stage before them.
// CHECK: %[[NEXT:.+]] = arith.addi %[[K]], %c128
// CHECK: arith.cmpi ult, %[[NEXT]], %{{.+}}
// CHECK: scf.if
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK: scf.yield
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: gpu.barrier
// CHECK: arith.truncf %{{.+}} : vector<2xf32> to vector<2xbf16>
// CHECK-COUNT-32: vector.store %{{.+}}, %[[SUMS]][%{{.+}}, %{{.+}}] {alignment = 4 : i64}
// CHECK-NOT: vector.store
// The temporary and its fill are removed: the cast reads the accumulators.
// CHECK: {ark.high_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
// CHECK-NEXT: linalg.generic {{.+}} ins(%[[SUMS]] : {{.+}}) outs(%[[Y]] :
// CHECK-NEXT: ^bb0(%[[ROUNDED:.+]]: bf16,
// CHECK-NEXT: linalg.yield %[[ROUNDED]] : bf16
// CHECK-NOT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x256xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x256xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x512xbf16>, memref<256x512xbf16>) outs(%t : memref<128x256xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x256xf32>) outs(%y : memref<128x256xbf16>) {
      ^bb0(%a: f32, %b: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two products with one left operand are one loop, with accumulators of 64 columns each.
// Both write their accumulators to the same temporary, one after the other.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[U:[a-z0-9]+]]: memref<128x128xf16> {{{.+}}}, %[[V:[a-z0-9]+]]: memref<128x128xf16>
// CHECK-NOT: memref.alloca
// CHECK: %[[MEMORY:.+]] = memref.alloca() {alignment = 1024 : i64}
// CHECK-NOT: memref.alloca
// CHECK: %[[FIRST:.+]] = memref.reinterpret_cast %[[MEMORY]] to offset: [0], sizes: [128, 128], strides: [136, 1]
// CHECK: %[[SECOND:.+]] = memref.reinterpret_cast %[[MEMORY]] to offset: [17408], sizes: [128, 128], strides: [136, 1]
// CHECK: scf.forall
// CHECK: scf.for
// CHECK-COUNT-8: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<f16>
// CHECK-NOT: nvvm.wgmma.mma_async
// CHECK: scf.yield
// CHECK-COUNT-16: vector.store %{{.+}}, %[[FIRST]]
// CHECK-COUNT-16: vector.store %{{.+}}, %[[SECOND]]
// CHECK: linalg.generic {{.+}} ins(%[[FIRST]] : {{.+}}) outs(%[[U]] :
// CHECK: linalg.generic {{.+}} ins(%[[SECOND]] : {{.+}}) outs(%[[V]] :
// CHECK-NOT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<128x256xf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<128x128xf16> {llvm.align = 16 : i64, llvm.noalias}) {
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
        ins(%x, %w : memref<128x256xf16>, memref<128x256xf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%u : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %z : memref<128x256xf16>, memref<128x256xf16>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%v : memref<128x128xf16>) {
      ^bb0(%a: f32, %b: f16):
        %r = arith.truncf %a : f32 to f16
        linalg.yield %r : f16
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// The product is added to the previous content of the result.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<256x128xf32>
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast
// CHECK: nvvm.wgmma.mma_async
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] : {{.+}}) outs(%[[Y]] : memref<256x128xf32>)
// CHECK: arith.addf
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<256x192xbf16>, memref<128x192xbf16>) outs(%y : memref<256x128xf32>) {
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
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two warpgroups multiply 96 rows. Their stages have 128 rows, of which the threads copy 96. The results are the first
// 96 rows of the accumulators.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[ALL:.+]] = memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [128, 128], strides: [136, 1]
// CHECK: %[[ROWS:.+]] = memref.subview %[[ALL]][0, 0] [96, 128] [1, 1]
// CHECK: arith.cmpi ult, %{{.+}}, %c32
// CHECK-NEXT: scf.if
// CHECK: nvvm.wgmma.mma_async
// CHECK: vector.store %{{.+}}, %[[ALL]]
// CHECK: linalg.generic {{.+}} ins(%[[ROWS]] :
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<96x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<96x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<96x512xbf16>, memref<128x512xbf16>) outs(%y : memref<96x128xf32>) {
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
