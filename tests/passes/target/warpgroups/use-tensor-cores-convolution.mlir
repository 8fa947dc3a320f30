// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a --ark-use-tensor-cores | FileCheck %s
// The matrix units of other targets read no windows of images: threads compute the sums.
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 --ark-use-tensor-cores | FileCheck %s --check-prefix=THREADS
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx942 --ark-use-tensor-cores | FileCheck %s --check-prefix=THREADS
// THREADS-NOT: scf.forall

#f = affine_map<(m, y, x, c, i, j) -> (m, c, i, j)>
#image = affine_map<(m, y, x, c, i, j) -> (c, y * 3 + i * 3 + j, x)>
#out = affine_map<(m, y, x, c, i, j) -> (m, y, x)>
#e = affine_map<(m, y, x) -> (m, y, x)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Seven rows of 14 windows, which take 16 columns of a stage each, in two panels of 64. A thread copies the elements of
// eight neighbouring windows with one instruction: 12 bytes at the end of a row, and none behind the last row.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[MEMORY:.+]] = memref.alloca() {alignment = 1024 : i64}
// CHECK-NOT: memref.alloca
// CHECK: %[[IMAGE:.+]] = memref.subview
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast %[[MEMORY]] to offset: [0], sizes: [64, 7, 14], strides: [136, 16, 1]
// CHECK: scf.forall
// The element of a window and its channel, then the row and the column of the first window of the copy.
// CHECK: %[[ELEMENT:.+]] = arith.index_cast %{{.+}} : index to i32
// CHECK: %[[CHANNEL:.+]] = arith.divui %[[ELEMENT]], %c9_i32
// CHECK: %[[ROW:.+]] = arith.remui %[[ELEMENT]], %c9_i32
// CHECK: %[[Y:.+]] = arith.divui %[[WINDOW:.+]], %c16_i32
// CHECK-NEXT: %[[X:.+]] = arith.remui %[[WINDOW]], %c16_i32
// CHECK: %[[FIRST:.+]] = arith.muli %[[Y]], %c3_i32
// CHECK-NEXT: %[[IMAGEROW:.+]] = arith.addi %[[FIRST]], %[[ROW]]
// CHECK: arith.index_castui %[[CHANNEL]] : i32 to index
// CHECK: arith.index_castui %[[IMAGEROW]] : i32 to index
// CHECK: %[[REST:.+]] = arith.subi %c28_i32{{.*}}, %{{.+}}
// CHECK-NEXT: %[[SOME:.+]] = arith.minsi %[[REST]], %c16_i32
// CHECK: %[[EXISTS:.+]] = arith.cmpi ult, %{{.+}}, %c112_i32
// CHECK: %[[BYTES:.+]] = arith.select %[[EXISTS]], %[[SOME]], %c0_i32
// CHECK-NEXT: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %[[BYTES]]
// CHECK: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 64, k = 16>
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: linalg.generic {{.+}} ins(%[[SUMS]] :
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %f: memref<64x64x3x3xbf16> {llvm.align = 16 : i64, llvm.noalias}, %x: memref<64x48x14xbf16, strided<[768, 16, 1]>> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x14x14xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<64x7x14xf32>
  scf.for %v = %begin to %end step %c1 {
    %row = affine.apply affine_map<(d0) -> (d0 * 21)>(%v)
    %first = affine.apply affine_map<(d0) -> (d0 * 7)>(%v)
    %xt = memref.subview %x[0, %row, 0] [64, 27, 14] [1, 1, 1] : memref<64x48x14xbf16, strided<[768, 16, 1]>> to memref<64x27x14xbf16, strided<[768, 16, 1], offset: ?>>
    %yt = memref.subview %y[0, %first, 0] [64, 7, 14] [1, 1, 1] : memref<64x14x14xf32> to memref<64x7x14xf32, strided<[196, 14, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, y, x) -> ()>, #e], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<64x7x14xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#f, #image, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%f, %xt : memref<64x64x3x3xbf16>, memref<64x27x14xbf16, strided<[768, 16, 1], offset: ?>>) outs(%t : memref<64x7x14xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%t : memref<64x7x14xf32>) outs(%yt : memref<64x7x14xf32, strided<[196, 14, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %a : f32
        linalg.yield %r : f32
      }
  }
  return
}

// -----

#f = affine_map<(m, y, x, c, i, j) -> (m, c, i, j)>
#image = affine_map<(m, y, x, c, i, j) -> (c, y * 3 + i * 3 + j, x)>
#out = affine_map<(m, y, x, c, i, j) -> (m, y, x)>
#e = affine_map<(m, y, x) -> (m, y, x)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Rows of 14 elements do not begin at multiples of 16 bytes.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.forall
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %f: memref<64x64x3x3xbf16> {llvm.align = 16 : i64, llvm.noalias}, %x: memref<64x27x14xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x7x14xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, y, x) -> ()>, #e], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%zero : f32) outs(%y : memref<64x7x14xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#f, #image, #out], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%f, %x : memref<64x64x3x3xbf16>, memref<64x27x14xbf16>) outs(%y : memref<64x7x14xf32>) {
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
