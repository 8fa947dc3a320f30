// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores | FileCheck %s

// Tensor maps serve only shapes for which a measurement showed a gain.
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
// Large tiles with a depth of up to 2048 use tensor maps.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK: nvvm.wgmma.mma_async
// CHECK-NOT: nvvm.cp.async.shared.global
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x2048xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x2048xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<256x2048xbf16>, memref<128x2048xbf16>) outs(%y : memref<256x128xf32>) {
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
// Deeper products copy with threads.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.wgmma.mma_async
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x2112xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x2112xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<256x2112xbf16>, memref<128x2112xbf16>) outs(%y : memref<256x128xf32>) {
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
// Smaller tiles copy with threads.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.wgmma.mma_async
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x2048xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x2048xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x2048xbf16>, memref<128x2048xbf16>) outs(%y : memref<128x128xf32>) {
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
// A kernel that does not make tensor maps copies with threads.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.wgmma.mma_async
// CHECK-NOT: nvvm.cp.async.bulk
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<256x2048xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x2048xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<256x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<256x2048xbf16>, memref<128x2048xbf16>) outs(%y : memref<256x128xf32>) {
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
