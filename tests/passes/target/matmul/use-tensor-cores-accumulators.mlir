// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-use-tensor-cores=threads=128 | FileCheck %s

// Two products have one left operand, and K is not split. Their accumulators replace both temporaries, and with them
// the fills that begin the block.
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#scalar = affine_map<(m, n) -> ()>
#out = affine_map<(m, n) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca() : memref<64x32xf32>
// CHECK: nvvm.mma.sync
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %v: memref<32x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<32x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %first = memref.alloca() : memref<64x32xf32>
  %second = memref.alloca() : memref<64x32xf32>
  scf.for %i = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#scalar, #out], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%first : memref<64x32xf32>) {
      ^bb0(%in: f32, %o: f32):
        linalg.yield %in : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %v : memref<64x256xbf16>, memref<32x256xbf16>) outs(%first : memref<64x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#scalar, #out], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%second : memref<64x32xf32>) {
      ^bb0(%in: f32, %o: f32):
        linalg.yield %in : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x256xbf16>, memref<32x256xbf16>) outs(%second : memref<64x32xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#out, #out, #out], iterator_types = ["parallel", "parallel"]}
        ins(%first, %second : memref<64x32xf32>, memref<64x32xf32>) outs(%y : memref<64x32xf32>) {
      ^bb0(%a: f32, %b: f32, %o: f32):
        %s = arith.mulf %a, %b : f32
        linalg.yield %s : f32
      }
  }
  return
}
