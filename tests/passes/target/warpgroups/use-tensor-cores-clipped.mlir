// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a --ark-use-tensor-cores | FileCheck %s

// Warpgroups compute clipped tiles, whose extents are minima. Operands have rows along K.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// The last tile of 300 rows has 44 rows. A thread copies two rows of the left operand, and no bytes of a row that does not
// exist. All rows of the right operand exist.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[MEMORY:.+]] = memref.alloca() {alignment = 1024 : i64}
// CHECK-NOT: memref.alloca
// CHECK: %[[ROWS:.+]] = affine.min
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast %[[MEMORY]] to offset: [0], sizes: [128, 128], strides: [136, 1]
// CHECK: %[[RESULT:.+]] = memref.subview %[[SUMS]][0, 0] [%[[ROWS]], 128] [1, 1]
// CHECK: %[[ROW:.+]] = arith.divui %{{.+}}, %c8
// CHECK: %[[REMAINING:.+]] = arith.subi %[[ROWS]], %[[ROW]]
// CHECK: arith.cmpi sgt, %[[REMAINING]], %c0
// CHECK: %[[BYTES:.+]] = arith.select %{{.+}}, %c16_i32{{.*}}, %c0_i32
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %[[BYTES]]
// CHECK: arith.cmpi sgt, %[[REMAINING]], %c64
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %{{.+}}
// CHECK-COUNT-2: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg :
// CHECK: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 64, k = 16>
// The reader of the accumulators has the extents of the clipped tile. The temporary is removed.
// CHECK: linalg.generic {{.+}} ins(%[[RESULT]] :
// CHECK-NOT: nvvm.cp.async.bulk
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<300x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<300x128xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
    %rows = affine.min affine_map<(d0) -> (d0 * -128 + 300, 128)>(%i)
    %xt = memref.subview %x[%row, 0] [%rows, 256] [1, 1] : memref<300x256xbf16> to memref<?x256xbf16, strided<[256, 1], offset: ?>>
    %yt = memref.subview %y[%row, 0] [%rows, 128] [1, 1] : memref<300x128xf32> to memref<?x128xf32, strided<[128, 1], offset: ?>>
    %tt = memref.subview %t[0, 0] [%rows, 128] [1, 1] : memref<128x128xf32> to memref<?x128xf32, strided<[128, 1]>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%tt : memref<?x128xf32, strided<[128, 1]>>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xt, %w : memref<?x256xbf16, strided<[256, 1], offset: ?>>, memref<128x256xbf16>) outs(%tt : memref<?x128xf32, strided<[128, 1]>>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%tt : memref<?x128xf32, strided<[128, 1]>>) outs(%yt : memref<?x128xf32, strided<[128, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32):
        %r = arith.addf %a, %a : f32
        linalg.yield %r : f32
      }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Rows of the left operand may lie across K: a thread copies the bytes of its 16 that exist, from each panel of 64 rows.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[ROWS:.+]] = affine.min
// CHECK: %[[BEGIN:.+]] = arith.muli %{{.+}}, %c8
// CHECK: %[[REMAINING:.+]] = arith.subi %[[ROWS]], %[[BEGIN]]
// CHECK: %[[AFTER:.+]] = arith.subi %[[REMAINING]], %c0
// CHECK: %[[BYTES:.+]] = arith.muli %[[AFTER]], %c2
// CHECK: %[[NARROW:.+]] = arith.index_cast %[[BYTES]] : index to i32
// CHECK: %[[LEAST:.+]] = arith.maxsi %[[NARROW]], %c0_i32
// CHECK: %[[COPIED:.+]] = arith.minsi %[[LEAST]], %c16_i32
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %[[COPIED]]
// CHECK: arith.subi %[[REMAINING]], %c64
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %{{.+}}
// CHECK: nvvm.wgmma.mma_async {{.+}}, A[<bf16>, <one>, <col>], B[<bf16>, <one>, <col>]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x304xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<304x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
    %rows = affine.min affine_map<(d0) -> (d0 * -128 + 304, 128)>(%i)
    %xt = memref.subview %x[0, %row] [256, %rows] [1, 1] : memref<256x304xbf16> to memref<256x?xbf16, strided<[304, 1], offset: ?>>
    %yt = memref.subview %y[%row, 0] [%rows, 128] [1, 1] : memref<304x128xf32> to memref<?x128xf32, strided<[128, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xt, %w : memref<256x?xbf16, strided<[304, 1], offset: ?>>, memref<128x256xbf16>) outs(%yt : memref<?x128xf32, strided<[128, 1], offset: ?>>) {
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

#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#e = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Rows across K with 302 elements have addresses that are no multiples of 16 bytes, so that loops remain.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.wgmma
// CHECK-NOT: nvvm.mma.sync
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x302xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<302x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
    %rows = affine.min affine_map<(d0) -> (d0 * -128 + 302, 128)>(%i)
    %xt = memref.subview %x[0, %row] [256, %rows] [1, 1] : memref<256x302xbf16> to memref<256x?xbf16, strided<[302, 1], offset: ?>>
    %yt = memref.subview %y[%row, 0] [%rows, 128] [1, 1] : memref<302x128xf32> to memref<?x128xf32, strided<[128, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xt, %w : memref<256x?xbf16, strided<[302, 1], offset: ?>>, memref<128x256xbf16>) outs(%yt : memref<?x128xf32, strided<[128, 1], offset: ?>>) {
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
// A tile of 98 rows has two warpgroups. Warps copy four rows at once, so that some threads of a warp copy no bytes.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [128, 128], strides: [136, 1]
// CHECK: memref.subview %{{.+}}[0, 0] [98, 128] [1, 1]
// CHECK: arith.subi %c98
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %{{.+}}
// CHECK: nvvm.wgmma.mma_async
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<98x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<98x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<98x512xbf16>, memref<128x512xbf16>) outs(%y : memref<98x128xf32>) {
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
// The next tile of a work item has its own number of rows: its copies take no bytes from rows that do not exist.
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for %[[VCTA:.+]] = %{{.+}} to %{{.+}} step
// CHECK: %[[ROWS:.+]] = affine.min #{{.+}}(%[[VCTA]])
// CHECK: memref.subview %{{.+}}[0, 0] [%[[ROWS]], 128] [1, 1]
// CHECK: %[[REMAINING:.+]] = arith.subi %[[ROWS]], %[[ROW:.+]] :
// CHECK: arith.cmpi sgt, %[[REMAINING]], %c0
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %{{.+}} :
// CHECK: nvvm.wgmma.mma_async
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NEXT: gpu.barrier
// CHECK: scf.if
// CHECK: %[[NEXT:.+]] = arith.addi %[[VCTA]]
// CHECK: %[[NEXT_ROWS:.+]] = affine.min #{{.+}}(%[[NEXT]])
// CHECK: memref.subview %{{.+}} [%[[NEXT_ROWS]], 512] [1, 1]
// CHECK: %[[NEXT_REMAINING:.+]] = arith.subi %[[NEXT_ROWS]], %[[ROW]] :
// CHECK-NOT: %[[REMAINING]],
// CHECK: arith.cmpi sgt, %[[NEXT_REMAINING]], %c0
// CHECK: %[[BYTES:.+]] = arith.select %{{.+}}, %c16_i32{{.*}}, %c0_i32
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %[[BYTES]]
// CHECK: arith.cmpi sgt, %[[NEXT_REMAINING]], %c64
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %{{.+}} :
// CHECK-COUNT-2: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg :
// CHECK: nvvm.cp.async.commit.group
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<300x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<300x128xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 4 : i64} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
    %rows = affine.min affine_map<(d0) -> (d0 * -128 + 300, 128)>(%i)
    %xt = memref.subview %x[%row, 0] [%rows, 512] [1, 1] : memref<300x512xbf16> to memref<?x512xbf16, strided<[512, 1], offset: ?>>
    %yt = memref.subview %y[%row, 0] [%rows, 128] [1, 1] : memref<300x128xf32> to memref<?x128xf32, strided<[128, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xt, %w : memref<?x512xbf16, strided<[512, 1], offset: ?>>, memref<128x512xbf16>) outs(%yt : memref<?x128xf32, strided<[128, 1], offset: ?>>) {
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
// The last tile of 300 columns has 44 columns, which are rows of the right operand.
// CHECK-LABEL: func.func private @body(
// CHECK: %[[COLUMNS:.+]] = affine.min
// CHECK: %[[SUMS:.+]] = memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [128, 128], strides: [136, 1]
// CHECK: %[[RESULT:.+]] = memref.subview %[[SUMS]][0, 0] [128, %[[COLUMNS]]] [1, 1]
// CHECK: %[[REMAINING:.+]] = arith.subi %[[COLUMNS]], %{{.+}}
// All rows of the left operand exist.
// CHECK-COUNT-2: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg :
// CHECK: arith.cmpi sgt, %[[REMAINING]], %c0
// CHECK: %[[BYTES:.+]] = arith.select %{{.+}}, %c16_i32{{.*}}, %c0_i32
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %[[BYTES]]
// CHECK: arith.cmpi sgt, %[[REMAINING]], %c64
// CHECK: nvvm.cp.async.shared.global {{.+}}, 16, cache = cg, %{{.+}} :
// CHECK: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 64, k = 16>
// CHECK: linalg.generic {{.+}} ins(%[[RESULT]] :
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<300x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x300xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %column = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
    %columns = affine.min affine_map<(d0) -> (d0 * -128 + 300, 128)>(%i)
    %wt = memref.subview %w[%column, 0] [%columns, 512] [1, 1] : memref<300x512xbf16> to memref<?x512xbf16, strided<[512, 1], offset: ?>>
    %yt = memref.subview %y[0, %column] [128, %columns] [1, 1] : memref<128x300xf32> to memref<128x?xf32, strided<[300, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %wt : memref<128x512xbf16>, memref<?x512xbf16, strided<[512, 1], offset: ?>>) outs(%yt : memref<128x?xf32, strided<[300, 1], offset: ?>>) {
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
// Threads that split elements of f32 do not clip rows.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.wgmma
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<300x512xf32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x512xf32> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<300x128xf32> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %row = affine.apply affine_map<(d0) -> (d0 * 128)>(%i)
    %rows = affine.min affine_map<(d0) -> (d0 * -128 + 300, 128)>(%i)
    %xt = memref.subview %x[%row, 0] [%rows, 512] [1, 1] : memref<300x512xf32> to memref<?x512xf32, strided<[512, 1], offset: ?>>
    %yt = memref.subview %y[%row, 0] [%rows, 128] [1, 1] : memref<300x128xf32> to memref<?x128xf32, strided<[128, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xt, %w : memref<?x512xf32, strided<[512, 1], offset: ?>>, memref<128x512xf32>) outs(%yt : memref<?x128xf32, strided<[128, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: f32, %c: f32):
        %p = arith.mulf %a, %b : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
  }
  return
}
