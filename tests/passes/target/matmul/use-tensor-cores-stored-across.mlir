// Rows of the weights lie across K, and there are enough of them that all threads have eight columns to transpose.

// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-use-tensor-cores=threads=256 --canonicalize --cse \
// RUN:   | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (k, n)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @across_k_wide, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Each of 256 threads loads eight elements of each of four rows, and stores four elements along K for each of eight rows
// of the stage.
// CHECK-LABEL: func.func private @across_k_wide(
// CHECK: %[[LEFT:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: %[[K0:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: %[[K1:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: llvm.inline_asm has_side_effects "", "v,v,v,v,v,v" %[[LEFT]], %{{.+}}, %[[K0]], %[[K1]], %{{.+}}, %{{.+}} :
// CHECK: llvm.store %[[LEFT]], %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: %[[A:.+]] = vector.extract %[[K0]][0]
// CHECK: %[[B:.+]] = vector.extract %[[K1]][0]
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"(%[[B]], %[[A]], %{{.+}}) : (i32, i32, i32) -> i32
// CHECK-COUNT-8: llvm.store %{{.+}}, %{{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store {{.+}}alignment = 8
// CHECK: gpu.barrier
// CHECK: rocdl.mfma
func.func private @across_k_wide(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x128xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<64x128xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x128xbf16>, memref<128x128xbf16>) outs(%y : memref<64x128xf32>) {
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
