// On AMD GPUs, queries are the columns of the matrix instructions: of keys by queries, and of values by exponentials.
// Each RUN line fills in the rows and depths of one body.

// Four warps have 32 queries each, and read all keys. The first loop has the steps whose keys all exist. Threads load
// the keys and values of the next step to registers, while the warps read a stage. A step of 32 keys takes eight
// instructions for the scores, and eight for the values. Two threads share a query, at a distance of 32.
// RUN: sed 's/ROWS/128/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx942 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: memref<{{.*}}x128x64xf32>
// WHOLE: memref.alloca() {alignment = 128 : i64} : memref<128x72xbf16>
// WHOLE: scf.forall (%{{.+}}) in (256) {
// WHOLE: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c32{{.*}} iter_args({{.+}}) -> (f32, f32, vector<16xf32>, vector<16xf32>, vector<8xbf16>, vector<8xbf16>, index)
// WHOLE-COUNT-2: vector.store {{.+}} {alignment = 16 : i64} : memref<128x72xbf16>, vector<8xbf16>
// WHOLE-COUNT-2: vector.load {{.+}} {alignment = 16 : i64} : memref<?x64xbf16{{.*}}>, vector<8xbf16>
// WHOLE: gpu.barrier
// WHOLE-COUNT-4: vector.load {{.+}} {alignment = 16 : i64} : memref<128x72xbf16>, vector<8xbf16>
// WHOLE-COUNT-8: rocdl.mfma.f32.32x32x8bf16.1k
// WHOLE-NOT: rocdl.mfma
// WHOLE: %[[DISTANCE:.+]] = arith.constant 32 : i32
// WHOLE: gpu.shuffle xor %{{.+}}, %[[DISTANCE]],
// WHOLE: llvm.call_intrinsic "llvm.amdgcn.exp2"(%{{.+}}) : (f32) -> f32
// WHOLE: vector.load {{.+}} {alignment = 4 : i64} : memref<128x72xbf16>, vector<2xbf16>
// WHOLE-COUNT-8: rocdl.mfma.f32.32x32x8bf16.1k
// WHOLE-NOT: rocdl.mfma
// WHOLE: scf.yield
// The keys after the last whole step come from memory, and are compared with the number of keys.
// WHOLE: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c32{{.*}} iter_args({{.+}}) -> (f32, f32, vector<16xf32>, vector<16xf32>)
// WHOLE: arith.cmpi slt
// WHOLE-COUNT-16: rocdl.mfma.f32.32x32x8bf16.1k
// WHOLE-NOT: rocdl.mfma
// A thread stores eight neighbouring elements.
// WHOLE-COUNT-4: vector.store {{.+}} {alignment = 16 : i64} : memref<128x64xbf16>, vector<8xbf16>
// WHOLE-NOT: vector.store
// WHOLE-NOT: scf.forall
// gfx950 has instructions of twice the depth.
// RUN: sed 's/ROWS/128/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx950 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s --check-prefix=DEEP
// DEEP-COUNT-4: rocdl.mfma.f32.32x32x16.bf16
// DEEP-NOT: rocdl.mfma
// DEEP: llvm.amdgcn.exp2
// DEEP-COUNT-4: rocdl.mfma.f32.32x32x16.bf16
// DEEP-NOT: rocdl.mfma
// DEEP: scf.yield
// Its loads to LDS fill three stages of 8,320 bytes. A copy has eight rows, and four copies have the keys of a step. The
// wait is for the two copies of this step, while those of the next one are in flight.
// RUN: sed 's/ROWS/128/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx950 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s --check-prefix=COPIED
// COPIED: memref.alloca() {alignment = 128 : i64} : memref<12480xbf16>
// COPIED: scf.forall (%{{.+}}) in (256) {
// COPIED: scf.if
// COPIED-COUNT-4: rocdl.global.load.lds %{{.+}}, %{{.+}}, 16, 0, 0 {alias_scopes = [#[[COPIES:.+]]]}
// COPIED-NOT: rocdl.global.load.lds
// COPIED: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c32{{.*}} iter_args({{.+}}) -> (f32, f32, vector<16xf32>, vector<16xf32>, index, index)
// COPIED-NEXT: rocdl.s.waitcnt 114
// COPIED-NEXT: llvm.fence syncscope("wavefront") release
// COPIED-NEXT: rocdl.s.barrier
// COPIED-COUNT-2: rocdl.global.load.lds
// COPIED-NOT: rocdl.global.load.lds
// COPIED-COUNT-4: llvm.load {{.+}} {alignment = 16 : i64, noalias_scopes = [#[[COPIES]]]} : !llvm.ptr<3> -> vector<8xbf16>
// COPIED-COUNT-4: rocdl.mfma.f32.32x32x16.bf16
// COPIED: llvm.load {{.+}} {alignment = 4 : i64, noalias_scopes = [#[[COPIES]]]} : !llvm.ptr<3> -> vector<2xbf16>
// COPIED-COUNT-4: rocdl.mfma.f32.32x32x16.bf16
// COPIED: scf.yield
// Copies for steps that do not exist end before the memory is used again.
// COPIED: rocdl.s.waitcnt 112
// Threads store the stages of heads whose depth is no power of two.
// RUN: sed 's/ROWS/128/g; s/DEPTH/96/g; s/STRIDE/96/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx950 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s --check-prefix=UNEVEN
// UNEVEN-NOT: rocdl.global.load.lds
// UNEVEN: vector.store {{.+}} {alignment = 16 : i64} : memref<128x104xbf16>, vector<8xbf16>
// UNEVEN-NOT: rocdl.global.load.lds
// Few queries fill the columns of one instruction of 16. Four warps share the keys, and a second loop combines the
// results.
// RUN: sed 's/ROWS/3/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx942 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s --check-prefix=FEW
// FEW: memref.alloca() {alignment = 128 : i64} : memref<4x3x68xf32>
// FEW: scf.forall
// FEW: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c128{{.*}} iter_args({{.+}}) -> (f32, f32, vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
// FEW-COUNT-8: rocdl.mfma.f32.16x16x16bf16.1k
// FEW: llvm.amdgcn.exp2
// FEW-COUNT-8: rocdl.mfma.f32.16x16x16bf16.1k
// FEW: scf.if
// FEW: vector.store {{.+}} : memref<4x3x68xf32>, vector<4xf32>
// FEW: scf.forall
// FEW-COUNT-4: memref.load {{.+}} : memref<4x3x68xf32>
// FEW-NOT: memref.load {{.+}} : memref<4x3x68xf32>
// A depth of 80 fits the instructions of 16 columns only. Each warp has two of them, and two queries for each thread.
// RUN: sed 's/ROWS/128/g; s/DEPTH/80/g; s/STRIDE/80/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx942 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s --check-prefix=ODD
// ODD: scf.forall
// ODD: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c32{{.*}} iter_args({{.+}}) -> (f32, f32, f32, f32, vector<4xf32>,
// ODD-NOT: rocdl.mfma.f32.32x32
// ODD: rocdl.mfma.f32.16x16x16bf16.1k
// The pass declines a depth that is not a multiple of the rows of an instruction, a depth above 128, and rows that are
// not aligned.
// RUN: sed 's/ROWS/128/g; s/DEPTH/72/g; s/STRIDE/72/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx942 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s
// RUN: sed 's/ROWS/128/g; s/DEPTH/144/g; s/STRIDE/144/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx942 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s
// RUN: sed 's/ROWS/128/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/8/g' %s | ark-opt --ark-assign-target=target=hip:gfx942 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s
// RUN: sed 's/ROWS/128/g; s/DEPTH/64/g; s/STRIDE/68/g; s/ALIGN/16/g' %s | ark-opt --ark-assign-target=target=hip:gfx942 --ark-expand-attention=threads=256 --ark-flash-attention=threads=256 | FileCheck %s

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
