// In a CTA whose warps are not whole warpgroups, warps or loops compute the product.
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-use-tensor-cores=threads=64 | FileCheck %s
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-use-tensor-cores=threads=192 | FileCheck %s
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-use-tensor-cores=threads=128 | FileCheck %s --check-prefix=ONE

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.wgmma
// CHECK: return
// ONE-LABEL: func.func private @body(
// ONE: nvvm.wgmma
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x512xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x512xbf16>, memref<128x512xbf16>) outs(%y : memref<64x128xf32>) {
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
