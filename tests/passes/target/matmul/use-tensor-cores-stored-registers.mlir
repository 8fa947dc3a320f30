// Stages are as deep as registers for the bytes that a thread loads permit. For rows across K, a thread loads at least
// four times 8 bytes, so that an operand with few of these rows takes more registers than its share of the bytes.

// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx942 --ark-use-tensor-cores=threads=256 \
// RUN:   --canonicalize --cse | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @along_k, operands = 0 : i64}, {function = @across_k, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Seven chunks of a stage of 64 elements of K have 28 registers.
// CHECK-LABEL: func.func private @along_k(
// CHECK: memref.alloca() {alignment = 128 : i64} : memref<14336xi32>
// CHECK-COUNT-7: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.store
func.func private @along_k(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<160x256xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<64x160xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x256xbf16>, memref<160x256xbf16>) outs(%y : memref<64x160xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}
// Rows of the activations lie across K: a stage of 64 elements would have 8 registers for them and 28 for the weights.
// Stages of 32 elements have four chunks of 8 bytes of the activations, and four of 16 bytes of the weights.
// CHECK-LABEL: func.func private @across_k(
// CHECK: memref.alloca() {alignment = 128 : i64} : memref<9216xi32>
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
// CHECK-COUNT-4: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.store
func.func private @across_k(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<256x64xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<224x256xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<64x224xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (k, m)>, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<256x64xbf16>, memref<224x256xbf16>) outs(%y : memref<64x224xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}
