// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores=all-tensor-maps | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_86 \
// RUN:   --ark-use-tensor-cores=all-tensor-maps | FileCheck %s --check-prefix=OLD

// In a kernel that makes tensor maps, TMA copies fill the stages of warpgroups.
// OLD-NOT: nvvm.cp.async.bulk
// OLD-NOT: tensor_maps
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
// The boxes begin in row 128 i of x and row 256 i of w, in matrices of 512 columns.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[TASK:[a-z0-9]+]]: index, %{{[a-z0-9]+}}: memref<4xi64>
// CHECK-SAME: attributes {ark.tensor_maps = [array<i64: 0, 512, 1024, 512, 128>, array<i64: 1, 512, 2048, 512, 256>]}
// The allocation holds the stages, 32 bytes for each operand and 16 bytes for each stage.
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<49184xf32>
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// The first thread of each of two warpgroups issues the copies.
// CHECK: arith.divui %[[THREAD]], %c128
// CHECK: %[[GROUP:.+]] = arith.divui %[[THREAD]], %c128
// CHECK: arith.remui %[[THREAD]], %c128
// CHECK: arith.cmpi ult, %[[GROUP]], %c2
// CHECK: %[[ASKS:.+]] = arith.andi
// CHECK: scf.if
// CHECK-COUNT-8: nvvm.mbarrier.init
// CHECK-NOT: nvvm.mbarrier.init
// CHECK: func.call @ark_tensor_map(%[[TASK]], %c0{{.*}})
// CHECK: func.call @ark_tensor_map(%[[TASK]], %c1{{.*}})
// The fences make earlier writes of other threads to global and shared memory visible to the copies.
// CHECK: gpu.barrier
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.global>}
// The issuing thread copies a box of its operand two stages ahead.
// CHECK: nvvm.mbarrier.arrive.expect_tx {{.+}} predicate = %[[ASKS]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.+}} predicate = %[[ASKS]]
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK-NOT: nvvm.cp.async.bulk.tensor
// CHECK: scf.for %[[K:.+]] = %c0{{.*}} to %c512{{.*}} step %c64
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async
// CHECK-NOT: nvvm.wgmma.mma_async
// The loop has no branch and no barrier of all threads. A stage is refilled
// after all warps have read it.
// CHECK-NOT: scf.if
// CHECK-NOT: gpu.barrier
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[NEXT:.+]] = arith.addi %[[K]], %c128
// CHECK: arith.cmpi ult, %[[NEXT]], %c512
// CHECK: %[[ASKSNOW:.+]] = arith.andi %[[ASKS]]
// CHECK: nvvm.mbarrier.arrive.expect_tx {{.+}} predicate = %[[ASKSNOW]]
// CHECK: nvvm.cp.async.bulk.tensor.shared.cluster.global {{.+}} predicate = %[[ASKSNOW]]
// CHECK-NOT: nvvm.cp.async.bulk.tensor
// CHECK: nvvm.wgmma.wait.group.sync.aligned 1
// CHECK-NOT: scf.if
// CHECK: nvvm.inline_ptx "mbarrier.arrive
// CHECK: scf.yield
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: gpu.barrier
// CHECK: scf.if
// CHECK-COUNT-8: nvvm.mbarrier.inval
// CHECK-NOT: nvvm.cp.async.shared.global
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<1024x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<2048x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x256xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %xi = affine.apply affine_map<(i) -> (i * 128)>(%i)
    %xt = memref.subview %x[%xi, 0] [128, 512] [1, 1] : memref<1024x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %wi = affine.apply affine_map<(i) -> (i * 256)>(%i)
    %wt = memref.subview %w[%wi, 0] [256, 512] [1, 1] : memref<2048x512xbf16> to memref<256x512xbf16, strided<[512, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xt, %wt : memref<128x512xbf16, strided<[512, 1], offset: ?>>, memref<256x512xbf16, strided<[512, 1], offset: ?>>) outs(%y : memref<128x256xf32>) {
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
func.func private @ark_tensor_map(index, index) -> i64
// A slice of wider rows is a matrix with a larger stride. Adjacent heads are
// columns of one matrix, with all leading dimensions as its rows.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: ark.tensor_maps = [array<i64: 0, 192, 128, 576, 128>, array<i64: 1, 768, 512, 768, 128>]
// CHECK: nvvm.cp.async.bulk.tensor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xbf16, strided<[576, 1]>> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<4x128x4x192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %wt = memref.subview %w[%i, 0, %i, 0] [1, 128, 1, 192] [1, 1, 1, 1] : memref<4x128x4x192xbf16> to memref<128x192xbf16, strided<[768, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %wt : memref<128x192xbf16, strided<[576, 1]>>, memref<128x192xbf16, strided<[768, 1], offset: ?>>) outs(%y : memref<128x128xf32>) {
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
func.func private @ark_tensor_map(index, index) -> i64
// The distance of these matrices is not a multiple of a row, so they are not one matrix: threads copy.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.wgmma.mma_async
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<4x128x192xbf16, strided<[24672, 192, 1]>> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %wt = memref.subview %w[%i, 0, 0] [1, 128, 192] [1, 1, 1] : memref<4x128x192xbf16, strided<[24672, 192, 1]>> to memref<128x192xbf16, strided<[192, 1], offset: ?>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %wt : memref<128x192xbf16>, memref<128x192xbf16, strided<[192, 1], offset: ?>>) outs(%y : memref<128x128xf32>) {
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
func.func private @ark_tensor_map(index, index) -> i64
// For views other than subviews the pass cannot show that each row is a row of one matrix.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<24576xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %wt = memref.reinterpret_cast %w to offset: [0], sizes: [128, 192], strides: [192, 1] : memref<24576xbf16> to memref<128x192xbf16>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %wt : memref<128x192xbf16>, memref<128x192xbf16>) outs(%y : memref<128x128xf32>) {
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
func.func private @ark_tensor_map(index, index) -> i64
// Both operands of the product are one operand of the body, with one map.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: ark.tensor_maps = [array<i64: 0, 192, 256, 192, 128>]
// CHECK: nvvm.cp.async.bulk.tensor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x192xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    %xt = memref.subview %x[0, 0] [128, 192] [1, 1] : memref<256x192xbf16> to memref<128x192xbf16, strided<[192, 1]>>
    %wt = memref.subview %x[128, 0] [128, 192] [1, 1] : memref<256x192xbf16> to memref<128x192xbf16, strided<[192, 1], offset: 24576>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xt, %wt : memref<128x192xbf16, strided<[192, 1]>>, memref<128x192xbf16, strided<[192, 1], offset: 24576>>) outs(%y : memref<128x128xf32>) {
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
