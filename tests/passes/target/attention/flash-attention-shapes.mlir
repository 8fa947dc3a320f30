// RUN lines fill in the rows and depths of one body. ark-flash-attention computes this shape,
// and ark-expand-attention expands those it declines:
// RUN: sed 's/ROWS/8/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=DONE
// DONE: nvvm.mma.sync
// More rows than one mma has columns: blocks of 16 rows, with pairs of columns for each quad.
// RUN: sed 's/ROWS/9/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=DONE
// RUN: sed 's/ROWS/9/g; s/DEPTH/72/g; s/STRIDE/72/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// RUN: sed 's/ROWS/9/g; s/DEPTH/144/g; s/STRIDE/144/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// RUN: sed 's/ROWS/9/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/8/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// Two blocks of rows: four warps per block split the keys, and each step takes 16 keys per warp.
// RUN: sed 's/ROWS/30/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=PARTS
// PARTS: memref.alloca() {alignment = 128 : i64} : memref<4x30x64xf32>
// PARTS: scf.forall
// PARTS: scf.for %{{.+}} = %{{.+}} to %c2{{.*}} step %c4
// PARTS: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c64{{.*}} iter_args
// PARTS-COUNT-16: nvvm.mma.sync
// PARTS-NOT: nvvm.mma.sync
// PARTS: scf.if
// PARTS: vector.store {{.+}} : memref<4x30x64xf32>, vector<4xf32>
// PARTS: scf.forall
// PARTS-COUNT-4: memref.load {{.+}} : memref<4x30x64xf32>
// PARTS-NOT: memref.load {{.+}} : memref<4x30x64xf32>
// One warp reads all keys of its rows and stores the result, eight neighbouring elements at once.
// RUN: sed 's/ROWS/256/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: memref<{{.*}}x256x64xf32>
// WHOLE: scf.forall
// WHOLE: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c16{{.*}} iter_args
// WHOLE-COUNT-4: vector.store {{.+}} {alignment = 16 : i64} : memref<256x64xbf16>, vector<8xbf16>
// WHOLE-NOT: vector.store
// WHOLE-NOT: scf.forall
// WHOLE: {ark.full_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
// Queries of wide heads are reloaded in every step, from a row that the loop cannot fold.
// RUN: sed 's/ROWS/256/g; s/DEPTH/128/g; s/STRIDE/128/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=WIDE
// WIDE: scf.for {{.+}} iter_args
// WIDE: gpu.shuffle idx
// WIDE: vector.load %arg4
// WIDE: nvvm.mma.sync
// If a lane runs three vCTAs, two teams of eight warps take them in turn.
// Powers of two are instructions of the backend, whatever the matrix instruction is.
// DEFINE: %{mma} = mma = [#ark.mma<kind = mma_sync, m = 16, n = 8, k = 16, lhs = #ark.fragment<outer = [2, 2], threads = [8, 4], strides = [4, 1], elements = [1, 2]>, rhs = #ark.fragment<outer = [2, 1], threads = [4, 8], strides = [1, 4], elements = [2, 1]>, acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>]
// DEFINE: %{other} = #ark.target<backend = hip, arch = "other", sms = 108, warps = 16, shared_memory = 166912, bandwidth = 1850, flops = 250000, handoff = 700, barrier = 1200, overhead = 250, gpu = #ark.gpu<warp_size = 32, %{mma}>>
// RUN: sed 's/ROWS/256/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=CUDA
// RUN: sed 's/ROWS/256/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt '--ark-assign-target=target={%{other}}' --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=OTHER --implicit-check-not=llvm.nvvm --implicit-check-not=inline_asm
// CUDA: nvvm.mma.sync
// CUDA: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.+}}) : (f32) -> f32
// OTHER: nvvm.mma.sync
// OTHER: llvm.call_intrinsic "llvm.amdgcn.exp2"(%{{.+}}) : (f32) -> f32

// RUN: sed 's/ROWS/128/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g; s/tasks = \[\]/tasks = [{}]/; s/task_table = dense<> : tensor<0x2xi32>/task_table = dense<[[0, 0]]> : tensor<1x2xi32>/; s/instructions = dense<> : tensor<0x4xi32>, lanes = dense<.*> : tensor<1x3xi32>/instructions = dense<[[0, 0, 0, 3]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>/' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s --check-prefix=TEAMS
// TEAMS: scf.forall (%[[THREAD:.+]]) in (512) {
// TEAMS: %[[TEAM:.+]] = arith.divui %[[THREAD]], %c256
// TEAMS: %[[OWN:.+]] = arith.muli %[[TEAM]], %c1
// TEAMS: %[[BEGIN:.+]] = arith.addi %arg0, %[[OWN]]
// TEAMS: %[[STEP:.+]] = arith.muli %c1{{.*}}, %c2
// TEAMS: scf.for %{{.+}} = %[[BEGIN]] to %arg1 step %[[STEP]] {
// TEAMS-NOT: scf.forall
// TEAMS: nvvm.mma.sync
// A thread has too few registers for so many columns.
// RUN: sed 's/ROWS/2/g; s/DEPTH/136/g; s/STRIDE/136/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// The depth is not a multiple of the elements of a thread's load.
// RUN: sed 's/ROWS/2/g; s/DEPTH/60/g; s/STRIDE/60/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// A load of 16 bytes would be misaligned, at the buffer or at the row stride.
// RUN: sed 's/ROWS/2/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/8/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// RUN: sed 's/ROWS/2/g; s/DEPTH/64/g; s/STRIDE/68/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// The partial results of 16 warps would take 64 KB of shared memory.
// RUN: sed 's/ROWS/8/g; s/DEPTH/128/g; s/STRIDE/128/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --ark-flash-attention | FileCheck %s
// In the second loop, a thread combines one number per warp, so the number of warps must be a power of two.
// RUN: sed 's/ROWS/2/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=cuda:sm_80 --ark-expand-attention=threads=96 --ark-flash-attention=threads=96 | FileCheck %s

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#element = affine_map<(m, n) -> (m, n)>
#one = affine_map<(m) -> (m)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.forall
// CHECK: linalg.contract
// CHECK: linalg.contract
// CHECK-NOT: scf.forall
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<ROWSxDEPTHxbf16> {llvm.align = ALIGN : i64, llvm.noalias}, %k: memref<96xSTRIDExbf16> {llvm.align = ALIGN : i64, llvm.noalias}, %v: memref<96xSTRIDExbf16> {llvm.align = ALIGN : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<ROWSxDEPTHxbf16> {llvm.align = ALIGN : i64, llvm.noalias}, %z: memref<ROWSxf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<ROWSx96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<ROWSxf32>
  %total = memref.alloca() {alignment = 64 : i64} : memref<ROWSxf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<ROWSxDEPTHxf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, DEPTH] [1, 1] : memref<96xSTRIDExbf16> to memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>
    %values = memref.subview %v[0, 0] [%n, DEPTH] [1, 1] : memref<96xSTRIDExbf16> to memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>
    %scores = memref.subview %s[0, 0] [ROWS, %n] [1, 1] : memref<ROWSx96xf32> to memref<ROWSx?xf32, strided<[96, 1]>>
    ark.online_attention ins(%x, %keys, %values : memref<ROWSxDEPTHxbf16>, memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>, memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>)
        outs(%p, %m, %total, %scores : memref<ROWSxDEPTHxf32>, memref<ROWSxf32>, memref<ROWSxf32>, memref<ROWSx?xf32, strided<[96, 1]>>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %dot, %least : f32
      ark.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #element, #element], iterator_types = ["parallel", "parallel"]}
        ins(%total, %p : memref<ROWSxf32>, memref<ROWSxDEPTHxf32>) outs(%y : memref<ROWSxDEPTHxbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}
