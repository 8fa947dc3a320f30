// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores | FileCheck %s

// Threads copy the first stages of the next tile of a work item while they store the accumulators of a tile.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Four stages of 48 KB fit. The accumulators, which are rounded, occupy the first two. So the tile begins in the third
// stage, which is copied here only for the first tile of a work item.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[BEGIN:[a-z0-9]+]]: index, %[[END:[a-z0-9]+]]: index
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<98304xbf16>
// CHECK: scf.for %[[VCTA:.+]] = %[[BEGIN]] to %[[END]] step %[[STEP:.+]] {
// CHECK: scf.forall
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %[[VCTA]], %[[BEGIN]] : index
// CHECK-NEXT: scf.if %[[FIRST]] {
// CHECK: arith.addi %c98304
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK: arith.addi %c147456
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: }
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: scf.for %{{.+}} = %c0{{.*}} to %c512{{.*}} step %c64{{.*}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %c98304{{.*}}, %{{.+}} = %c0{{.*}})
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: scf.yield
// All warps have read all stages when the copies of the next tile are issued.
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NEXT: gpu.barrier
// CHECK: %[[NEXT:.+]] = arith.addi %[[VCTA]], %[[STEP]] : index
// CHECK-NEXT: %[[MORE:.+]] = arith.cmpi ult, %[[NEXT]], %[[END]] : index
// CHECK-NEXT: scf.if %[[MORE]] {
// CHECK: %[[INDEX:.+]] = arith.addi %[[VCTA]], %[[STEP]]
// CHECK-NEXT: %[[TILE:.+]] = affine.apply #{{.+}}(%[[INDEX]])
// CHECK-NEXT: memref.subview %{{.+}}[%[[TILE]], 0] [128, 512] [1, 1]
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: }
// CHECK-NOT: nvvm.cp.async
// CHECK: vector.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
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
// Accumulators of f32 occupy three of four stages, so that one stage is copied early.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<49152xf32>
// CHECK: arith.cmpi eq
// CHECK-NEXT: scf.if
// CHECK: arith.addi %c147456
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: }
// CHECK: arith.addi %c0
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK: iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %c147456{{.*}}, %{{.+}} = %c49152{{.*}})
// CHECK: scf.yield
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult
// CHECK-NEXT: scf.if
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: }
// CHECK-NOT: nvvm.cp.async
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: bf16):
        %q = arith.mulf %a, %a : f32
        %r = arith.truncf %q : f32 to bf16
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
// A tile of 128 of K has three stages, so that two are copied ahead: one early, and one after the accumulators of the
// previous tile have been read.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<73728xbf16>
// CHECK: scf.if
// CHECK: arith.addi %c98304
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-NEXT: }
// CHECK-COUNT-6: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: to %c128{{.*}} step %c64{{.*}} iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %c98304{{.*}}, %{{.+}} = %c49152{{.*}})
// CHECK: nvvm.cp.async.wait.group 1
// All instructions of a stage end before the next copy to its memory.
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: scf.yield
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 128] [1, 1] : memref<1024x128xbf16> to memref<128x128xbf16, strided<[128, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x128xbf16>, memref<128x128xbf16, strided<[128, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
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
// Every work item has one tile.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.if
// CHECK: iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %c0{{.*}}, %{{.+}} = %c98304{{.*}})
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: nvvm.cp.async
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
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
// The tile of the next vCTA depends on a number in memory.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.if
// CHECK: iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %c0{{.*}}, %{{.+}} = %c98304{{.*}})
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: nvvm.cp.async
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}, %numbers: memref<8xi32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %number = memref.load %numbers[%i] : memref<8xi32>
    %tile = arith.index_cast %number : i32 to index
    %first = affine.apply affine_map<(i) -> (128 * i)>(%tile)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
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
// A vCTA writes the operand that it multiplies, so that the operand of the next vCTA does not exist yet.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.if
// CHECK: iter_args(%{{.+}} = %{{.+}}, %{{.+}} = %c0{{.*}}, %{{.+}} = %c98304{{.*}})
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NEXT: gpu.barrier
// CHECK-NOT: nvvm.cp.async
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %one = arith.constant 1.0 : bf16
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%one : bf16) outs(%x : memref<256x512xbf16>) {
      ^bb0(%a: bf16, %b: bf16):
        linalg.yield %a : bf16
      }
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
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
// Threads that split elements of f32 fill all stages of each tile.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: arith.cmpi eq
// CHECK: nvvm.wgmma.mma_async
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x512xf32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xf32> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x1024xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xf32> to memref<128x512xf32, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [128, 128] [1, 1] : memref<128x1024xf32> to memref<128x128xf32, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<128x512xf32>, memref<128x512xf32, strided<[512, 1], offset: ?>>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%tile_of_y : memref<128x128xf32, strided<[1024, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
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
func.func private @ark_tensor_map(index, index) -> i64
// TMA would copy tiles of this size, but not the next tile.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK-COUNT-30: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async.{{shared|bulk}}
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
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
func.func private @ark_tensor_map(index, index) -> i64
// TMA copies the only tile of a work item.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x1024xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<256x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %first = affine.apply affine_map<(i) -> (128 * i)>(%i)
    %tile_of_w = memref.subview %w[%first, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %tile_of_y = memref.subview %y[0, %first] [256, 128] [1, 1] : memref<256x1024xbf16> to memref<256x128xbf16, strided<[1024, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile_of_w : memref<256x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<256x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<256x128xf32>) outs(%tile_of_y : memref<256x128xbf16, strided<[1024, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      }
  }
  return
}
