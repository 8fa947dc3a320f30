// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a \
// RUN:   --ark-use-tensor-cores=threads=128 | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// fp8 weights: a thread loads eight of them, and widens four per instruction
// after it has issued all loads.
// CHECK-LABEL: func.func private @body(
// CHECK: llvm.inline_asm has_side_effects "ld.global.L1::no_allocate.L2::128B.v2.b32 {$0, $1}, [$2];", "=r,=r,l"
// CHECK: vector.from_elements %{{.+}} : vector<2xi32>
// CHECK: vector.load %{{.+}} {alignment = 16 : i64} : memref<8x256xbf16>, vector<8xbf16>
// CHECK: %[[FOUR:.+]] = vector.bitcast %{{.+}} : vector<1xi32> to vector<4xf8E4M3FN>
// CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[FOUR]] : vector<4xf8E4M3FN> to vector<4xbf16>
// CHECK-NEXT: vector.bitcast %[[WIDE]] : vector<4xbf16> to vector<2xi32>
// CHECK: nvvm.mma.sync {{.+}}bf16
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<32x256xf8E4M3FN> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<8x256xbf16>, memref<32x256xf8E4M3FN>) outs(%y : memref<8x32xf32>) {
      ^bb0(%a: bf16, %b: f8E4M3FN, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : f8E4M3FN to f32
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
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Both operands are fp8, and are multiplied as f16.
// CHECK-LABEL: func.func private @body(
// CHECK: arith.extf %{{.+}} : vector<4xf8E4M3FN> to vector<4xf16>
// CHECK: arith.extf %{{.+}} : vector<4xf8E5M2> to vector<4xf16>
// CHECK: nvvm.mma.sync {{.+}}f16
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x256xf8E5M2> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<32x256xf8E4M3FN> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<8x256xf8E5M2>, memref<32x256xf8E4M3FN>) outs(%y : memref<8x32xf32>) {
      ^bb0(%a: f8E5M2, %b: f8E4M3FN, %c: f32):
        %l = arith.extf %a : f8E5M2 to f32
        %r = arith.extf %b : f8E4M3FN to f32
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
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// f32 is not multiplied with fp8 on tensor cores.
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: nvvm.mma.sync
// CHECK: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x256xf32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<32x256xf8E4M3FN> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<8x256xf32>, memref<32x256xf8E4M3FN>) outs(%y : memref<8x32xf32>) {
      ^bb0(%a: f32, %b: f8E4M3FN, %c: f32):
        %r = arith.extf %b : f8E4M3FN to f32
        %p = arith.mulf %a, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
  }
  return
}
