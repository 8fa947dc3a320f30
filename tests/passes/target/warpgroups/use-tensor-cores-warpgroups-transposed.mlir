// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 \
// RUN:   --ark-use-tensor-cores | FileCheck %s --check-prefix=OLD

// Warpgroups read operands whose rows lie across K. Warps do not.
// OLD-NOT: nvvm.wgmma
// OLD-NOT: nvvm.mma.sync
#x = affine_map<(m, n, k) -> (k, m)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Descriptors have the distance between panels, 8192 bytes, at bit 16: 512 units.
// CHECK-LABEL: func.func private @body(
// CHECK: arith.constant 4611686293338849280 : i64
// Each thread copies 16 bytes of the first 64 rows of K, for each panel of 64 rows or columns of the result.
// CHECK-COUNT-4: nvvm.cp.async.shared.global
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.+}}, <m = 64, n = 64, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <col>], B[<bf16>, <one>, <row>]
// CHECK-NOT: nvvm.wgmma.mma_async
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<512x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<512x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<512x128xbf16>, memref<512x128xbf16>) outs(%y : memref<128x128xf32>) {
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
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// A warpgroup would have 48 of the 96 columns, which are no whole panel. The stage has 128, the last ones of which are
// zeros.
// CHECK-LABEL: func.func private @body(
// CHECK: memref.reinterpret_cast %{{.+}} to offset: [0], sizes: [128, 128], strides: [136, 1]
// CHECK: memref.subview %{{.+}}[0, 0] [128, 96] [1, 1]
// CHECK: nvvm.wgmma.mma_async
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<512x96xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x96xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x512xbf16>, memref<512x96xbf16>) outs(%y : memref<128x96xf32>) {
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
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Rows of 100 columns have addresses that are no multiples of 16 bytes.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.wgmma
// CHECK-NOT: nvvm.mma.sync
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<512x100xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x100xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x512xbf16>, memref<512x100xbf16>) outs(%y : memref<128x100xf32>) {
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
