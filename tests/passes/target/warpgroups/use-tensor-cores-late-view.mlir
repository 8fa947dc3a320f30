// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-use-tensor-cores | FileCheck %s

// Two products have one left operand. The right operand of the second product is a view that is created after the first
// product: the matrix that an index selects. The view moves before the first product, and warpgroups compute both products
// at once.
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
// CHECK-SAME: %[[W:[a-z0-9]+]]: memref<16x128x512xbf16> {{{.+}}}, %[[V:[a-z0-9]+]]: memref<16x128x512xbf16>
// CHECK: %[[INDEX:.+]] = arith.index_cast
// CHECK-DAG: memref.subview %[[W]][%[[INDEX]], 0, 0]
// CHECK-DAG: memref.subview %[[V]][%[[INDEX]], 0, 0]
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-8: nvvm.wgmma.mma_async
// CHECK-NOT: nvvm.wgmma.mma_async
// CHECK: nvvm.wgmma.commit.group
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %p: memref<8xi32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<16x128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<16x128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x128x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<8x128x128xbf16> {llvm.align = 16 : i64, llvm.noalias}) attributes {ark.work_item_vctas = 1 : i64} {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %i = %begin to %end step %c1 {
    %0 = memref.load %p[%i] : memref<8xi32>
    %index = arith.index_cast %0 : i32 to index
    %wt = memref.subview %w[%index, 0, 0] [1, 128, 512] [1, 1, 1] : memref<16x128x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %yt = memref.subview %y[%i, 0, 0] [1, 128, 128] [1, 1, 1] : memref<8x128x128xbf16> to memref<128x128xbf16, strided<[128, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %wt : memref<128x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %m = arith.mulf %l, %r : f32
        %s = arith.addf %c, %m : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%yt : memref<128x128xbf16, strided<[128, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      }
    %vt = memref.subview %v[%index, 0, 0] [1, 128, 512] [1, 1, 1] : memref<16x128x512xbf16> to memref<128x512xbf16, strided<[512, 1], offset: ?>>
    %zt = memref.subview %z[%i, 0, 0] [1, 128, 128] [1, 1, 1] : memref<8x128x128xbf16> to memref<128x128xbf16, strided<[128, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, n) -> ()>, #e], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: f32, %b: f32):
        linalg.yield %a : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %vt : memref<128x512xbf16>, memref<128x512xbf16, strided<[512, 1], offset: ?>>) outs(%t : memref<128x128xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %m = arith.mulf %l, %r : f32
        %s = arith.addf %c, %m : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#e, #e], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<128x128xf32>) outs(%zt : memref<128x128xbf16, strided<[128, 1], offset: ?>>) {
      ^bb0(%a: f32, %b: bf16):
        %r = arith.truncf %a : f32 to bf16
        linalg.yield %r : bf16
      }
  }
  return
}
