// RUN lines fill in the rows and depths of one body. The pass rewrites this shape:
// RUN: sed 's/ROWS/8/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s --check-prefix=DONE
// DONE: nvvm.mma.sync
// More rows than one mma has columns: blocks of 16 rows, with pairs of columns for each quad.
// RUN: sed 's/ROWS/9/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s --check-prefix=DONE
// RUN: sed 's/ROWS/9/g; s/DEPTH/72/g; s/STRIDE/72/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// RUN: sed 's/ROWS/9/g; s/DEPTH/144/g; s/STRIDE/144/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// RUN: sed 's/ROWS/9/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/8/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// Two blocks of rows: four warps per block split the keys, and each step takes 16 keys per warp.
// RUN: sed 's/ROWS/30/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s --check-prefix=PARTS
// PARTS: memref.alloca() {alignment = 128 : i64} : memref<4x30x64xf32>
// PARTS: scf.forall
// PARTS: scf.for %{{.+}} = %{{.+}} to %c2{{.*}} step %c4
// PARTS: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c64{{.*}} iter_args
// PARTS-COUNT-32: nvvm.mma.sync
// PARTS-NOT: nvvm.mma.sync
// PARTS: scf.if
// PARTS: vector.store {{.+}} : memref<4x30x64xf32>, vector<4xf32>
// PARTS: scf.forall
// PARTS-COUNT-4: memref.load {{.+}} : memref<4x30x64xf32>
// PARTS-NOT: memref.load {{.+}} : memref<4x30x64xf32>
// One warp reads all keys of its rows and stores the result, eight neighbouring elements at once.
// RUN: sed 's/ROWS/256/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s --check-prefix=WHOLE
// WHOLE-NOT: memref<{{.*}}x256x64xf32>
// WHOLE: scf.forall
// WHOLE: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %c16{{.*}} iter_args
// WHOLE-COUNT-4: vector.store {{.+}} {alignment = 16 : i64} : memref<256x64xbf16>, vector<8xbf16>
// WHOLE-NOT: vector.store
// WHOLE-NOT: scf.forall
// WHOLE: {ark.full_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
// Queries of wide heads are reloaded in every step, from a row that the loop cannot fold.
// RUN: sed 's/ROWS/256/g; s/DEPTH/128/g; s/STRIDE/128/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s --check-prefix=WIDE
// WIDE: scf.for {{.+}} iter_args
// WIDE: gpu.shuffle idx
// WIDE: vector.load %arg4
// WIDE: nvvm.mma.sync
// If a lane runs three vCTAs, two teams of eight warps take them in turn.
// RUN: sed 's/ROWS/128/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g; s/tasks = \[\]/tasks = [{}]/; s/task_table = dense<> : tensor<0x2xi32>/task_table = dense<[[0, 0]]> : tensor<1x2xi32>/; s/instructions = dense<> : tensor<0x4xi32>, lanes = dense<.*> : tensor<1x3xi32>/instructions = dense<[[0, 0, 0, 3]]> : tensor<1x4xi32>, lanes = dense<[[0, 0, 1]]> : tensor<1x3xi32>/' %s | ark-opt --ark-flash-attention | FileCheck %s --check-prefix=TEAMS
// TEAMS: scf.forall (%[[THREAD:.+]]) in (512) {
// TEAMS: %[[TEAM:.+]] = arith.divui %[[THREAD]], %c256
// TEAMS: %[[OWN:.+]] = arith.muli %[[TEAM]], %c1
// TEAMS: %[[BEGIN:.+]] = arith.addi %arg0, %[[OWN]]
// TEAMS: %[[STEP:.+]] = arith.muli %c1{{.*}}, %c2
// TEAMS: scf.for %{{.+}} = %[[BEGIN]] to %arg1 step %[[STEP]] {
// TEAMS-NOT: scf.forall
// TEAMS: nvvm.mma.sync
// A lane has too few registers for so many columns.
// RUN: sed 's/ROWS/2/g; s/DEPTH/136/g; s/STRIDE/136/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// The depth is no multiple of a lane's load.
// RUN: sed 's/ROWS/2/g; s/DEPTH/60/g; s/STRIDE/60/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// A load of 16 bytes would be misaligned, at the buffer or at the row stride.
// RUN: sed 's/ROWS/2/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/8/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// RUN: sed 's/ROWS/2/g; s/DEPTH/64/g; s/STRIDE/68/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// The partial results of 16 warps would take 64 KB of shared memory.
// RUN: sed 's/ROWS/8/g; s/DEPTH/128/g; s/STRIDE/128/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention | FileCheck %s
// In the second loop a lane combines one number per warp, so the number of warps must be a power of two.
// RUN: sed 's/ROWS/2/g; s/DEPTH/64/g; s/STRIDE/64/g; s/ALIGN/16/g' %s | ark-opt --ark-flash-attention=threads=96 | FileCheck %s

#scores = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (m)>
#none = affine_map<(m, n) -> ()>
#all = affine_map<(m) -> ()>
#one = affine_map<(m) -> (m)>
#left = affine_map<(m, n, k) -> (m, k)>
#keys = affine_map<(m, n, k) -> (n, k)>
#values = affine_map<(m, n, k) -> (k, n)>
#out = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: scf.forall
// CHECK-COUNT-10: linalg.generic
// CHECK-NOT: scf.forall
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<ROWSxDEPTHxbf16> {llvm.align = ALIGN : i64, llvm.noalias}, %k: memref<96xSTRIDExbf16> {llvm.align = ALIGN : i64, llvm.noalias}, %v: memref<96xSTRIDExbf16> {llvm.align = ALIGN : i64, llvm.noalias},
    %length: memref<index> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<ROWSxDEPTHxbf16> {llvm.align = ALIGN : i64, llvm.noalias}, %z: memref<ROWSxf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c96 = arith.constant 96 : index
  %zero = arith.constant 0.0 : f32
  %unit = arith.constant 1.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %s = memref.alloca() {alignment = 64 : i64} : memref<ROWSx96xf32>
  %m = memref.alloca() {alignment = 64 : i64} : memref<ROWSxf32>
  %p = memref.alloca() {alignment = 64 : i64} : memref<ROWSxDEPTHxf32>
  scf.for %vcta = %begin to %end step %c1 {
    %loaded = memref.load %length[] : memref<index>
    %n = arith.minsi %loaded, %c96 : index
    %keys = memref.subview %k[0, 0] [%n, DEPTH] [1, 1] : memref<96xSTRIDExbf16> to memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>
    %values = memref.subview %v[0, 0] [%n, DEPTH] [1, 1] : memref<96xSTRIDExbf16> to memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>
    %scores = memref.subview %s[0, 0] [ROWS, %n] [1, 1] : memref<ROWSx96xf32> to memref<ROWSx?xf32, strided<[96, 1]>>
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%scores : memref<ROWSx?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #keys, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %keys : memref<ROWSxDEPTHxbf16>, memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>) outs(%scores : memref<ROWSx?xf32, strided<[96, 1]>>) {
    ^bb0(%q: bf16, %c: bf16, %o: f32):
      %a = arith.extf %q : bf16 to f32
      %b = arith.extf %c : bf16 to f32
      %d = arith.mulf %a, %b fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#scores], iterator_types = ["parallel", "parallel"]} outs(%scores : memref<ROWSx?xf32, strided<[96, 1]>>) {
    ^bb0(%o: f32):
      %key = linalg.index 1 : index
      %isThere = arith.cmpi slt, %key, %n : index
      %r = arith.select %isThere, %o, %least : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%least : f32) outs(%m : memref<ROWSxf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<ROWSx?xf32, strided<[96, 1]>>) outs(%m : memref<ROWSxf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.maximumf %in, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#one], iterator_types = ["parallel"]} outs(%m : memref<ROWSxf32>) {
    ^bb0(%o: f32):
      %isLeast = arith.cmpf oeq, %o, %least : f32
      %r = arith.select %isLeast, %zero, %o : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#row, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m : memref<ROWSxf32>) outs(%scores : memref<ROWSx?xf32, strided<[96, 1]>>) {
    ^bb0(%in: f32, %o: f32):
      %d = arith.subf %o, %in : f32
      %r = math.exp %d : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#all, #one], iterator_types = ["parallel"]} ins(%zero : f32) outs(%m : memref<ROWSxf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#scores, #row], iterator_types = ["parallel", "reduction"]}
        ins(%scores : memref<ROWSx?xf32, strided<[96, 1]>>) outs(%m : memref<ROWSxf32>) {
    ^bb0(%in: f32, %o: f32):
      %r = arith.addf %in, %o fastmath<reassoc,contract> : f32
      linalg.yield %r : f32
    }
    linalg.generic {indexing_maps = [#none, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%p : memref<ROWSxDEPTHxf32>) {
    ^bb0(%in: f32, %o: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#left, #values, #out], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%scores, %values : memref<ROWSx?xf32, strided<[96, 1]>>, memref<?xDEPTHxbf16, strided<[STRIDE, 1]>>) outs(%p : memref<ROWSxDEPTHxf32>) {
    ^bb0(%a: f32, %c: bf16, %o: f32):
      %b = arith.extf %c : bf16 to f32
      %d = arith.mulf %a, %b fastmath<contract> : f32
      %e = arith.addf %o, %d fastmath<reassoc,contract> : f32
      linalg.yield %e : f32
    }
    linalg.generic {indexing_maps = [#row, #scores, #scores], iterator_types = ["parallel", "parallel"]}
        ins(%m, %p : memref<ROWSxf32>, memref<ROWSxDEPTHxf32>) outs(%y : memref<ROWSxDEPTHxbf16>) {
    ^bb0(%sum: f32, %product: f32, %o: bf16):
      %r = arith.divf %product, %sum : f32
      %t = arith.truncf %r : f32 to bf16
      linalg.yield %t : bf16
    }
  }
  return
}
