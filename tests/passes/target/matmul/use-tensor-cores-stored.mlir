// On a GPU without asynchronous copies, threads load stages to registers and store them to shared memory.

// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx942 --ark-use-tensor-cores=threads=512 \
// RUN:   --canonicalize --cse | FileCheck %s

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#none = affine_map<(m, n) -> ()>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Eight stages of 32 elements of K: two stages of 16 KiB in shared memory, and the chunks of another one in registers.
// A warp has 64 rows by 32 columns, in two blocks of accumulators; an iteration multiplies two stages. The temporary of
// the product is gone: the epilogue reads the accumulators.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<128x256xbf16> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<128x256xbf16> {{{.+}}}, %[[B:[a-z0-9]+]]: memref<128xbf16> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<128x128xbf16>
// CHECK-NOT: memref<128x128xf32>
// CHECK: memref.alloca() {alignment = 128 : i64} : memref<8192xi32>
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[ROW:.+]] = arith.divui %[[THREAD]], %c4
// CHECK: %[[CHUNK:.+]] = arith.remui %[[THREAD]], %c4
// Two rows fill all banks. The place of a chunk depends on its pair of rows.
// CHECK: %[[PAIR:.+]] = arith.divui %[[ROW]], %c2
// CHECK: %[[KEY:.+]] = arith.remui %[[PAIR]], %c4
// CHECK: arith.xori %[[CHUNK]], %[[KEY]]
// The first stage is stored at once; the second one is in flight.
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK-COUNT-2: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// The loop hands on a pointer for each operand, and the distances of the thread's chunks, which stay opaque.
// CHECK: scf.for %{{.+}} = %c0_i32 to %c192_i32 step %c64_i32 iter_args(
// CHECK-COUNT-2: llvm.inline_asm has_side_effects "", "=v,0" %{{.+}} : (i32) -> i32
// CHECK: gpu.barrier
// CHECK-COUNT-6: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-COUNT-2: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: rocdl.sched.barrier 0
// CHECK-COUNT-4: rocdl.mfma.f32.32x32x8bf16.1k
// CHECK-NOT: rocdl.mfma
// CHECK: rocdl.sched.barrier 0
// CHECK-COUNT-2: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK-COUNT-4: rocdl.mfma.f32.32x32x8bf16.1k
// CHECK-NOT: rocdl.mfma
// CHECK: rocdl.sched.barrier 0
// CHECK: gpu.barrier
// CHECK-COUNT-8: rocdl.mfma.f32.32x32x8bf16.1k
// CHECK: scf.yield {{.+}} : {{.+}}, !llvm.ptr<1>, !llvm.ptr<1>, i32, i32
// The last two stages load nothing, and the last one stores nothing.
// CHECK-NOT: !llvm.ptr<1>
// CHECK-COUNT-8: rocdl.mfma.f32.32x32x8bf16.1k
// CHECK: gpu.barrier
// CHECK-NOT: llvm.store
// CHECK-COUNT-8: rocdl.mfma.f32.32x32x8bf16.1k
// CHECK: gpu.barrier
// CHECK-NOT: rocdl.mfma
// CHECK: %[[SUM:.+]] = vector.extract %{{.+}}[0] : f32 from vector<16xf32>
// CHECK: %[[BIAS:.+]] = memref.load %[[B]][%[[N:.+]]]
// CHECK: %[[WIDE:.+]] = arith.extf %[[BIAS]]
// CHECK: %[[BIASED:.+]] = arith.addf %[[SUM]], %[[WIDE]]
// CHECK: %[[RESULT:.+]] = arith.truncf %[[BIASED]]
// CHECK: memref.store %[[RESULT]], %[[Y]][%{{.+}}, %[[N]]]
// CHECK-COUNT-31: memref.store
// CHECK-NOT: memref.store
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x256xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %b: memref<128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<128x128xbf16> {llvm.align = 16 : i64, llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %t = memref.alloca() : memref<128x128xf32>
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<128x128xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<128x256xbf16>, memref<128x256xbf16>) outs(%t : memref<128x128xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%t, %b : memref<128x128xf32>, memref<128xbf16>) outs(%y : memref<128x128xbf16>) {
    ^bb0(%in: f32, %bias: bf16, %out: bf16):
      %0 = arith.extf %bias : bf16 to f32
      %1 = arith.addf %in, %0 : f32
      %2 = arith.truncf %1 : f32 to bf16
      linalg.yield %2 : bf16
    }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#none = affine_map<(m, n) -> ()>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @handed_on, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// K ends within a stage, and the tile is clipped. Chunks beyond the end of K are zero, and rows beyond the end are the
// last row. Ops of the epilogue hand elements to one another in registers; only elements that exist are stored.
// CHECK-LABEL: func.func private @handed_on(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<?x72xf16> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<?x72xf16> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<?x?xf16>
// CHECK-COUNT-1: memref.alloca
// CHECK-NOT: memref.alloca
// CHECK: %[[ROWS:.+]] = affine.min
// CHECK: %[[LAST:.+]] = arith.subi %[[ROWS]], %c1
// CHECK: arith.minui %{{.+}}, %[[LAST]]
// CHECK: %[[STAGE:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: %[[IS_THERE:.+]] = arith.cmpi ult, %{{.+}}, %c72
// CHECK: arith.select %[[IS_THERE]], %[[STAGE]], %{{.+}} : vector<4xi32>
// CHECK: rocdl.mfma.f32.16x16x16f16
// CHECK: %[[ROW_IS_THERE:.+]] = arith.cmpi ult, %{{.+}}, %[[ROWS]]
// CHECK: scf.if %[[ROW_IS_THERE]] {
// CHECK: %[[COLUMN_IS_THERE:.+]] = arith.cmpi ult
// CHECK-NEXT: scf.if %[[COLUMN_IS_THERE]] {
// CHECK-NEXT: %[[SUM:.+]] = vector.extract
// CHECK-NEXT: %[[NEGATIVE:.+]] = arith.negf %[[SUM]] : f32
// CHECK-NEXT: %[[NARROW:.+]] = arith.truncf %[[NEGATIVE]] : f32 to f16
// CHECK-NEXT: memref.store %[[NARROW]], %[[Y]]
func.func private @handed_on(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<?x72xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<?x72xf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<?x?xf16> {llvm.align = 16 : i64, llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloca() : memref<64x64xf32>
  %u = memref.alloca() : memref<64x64xf16>
  scf.for %vcta = %begin to %end step %c1 {
    %rows = affine.min affine_map<(d0) -> (d0, 64)>(%vcta)
    %columns = affine.min affine_map<(d0) -> (d0, 64)>(%end)
    %xs = memref.subview %x[0, 0] [%rows, 72] [1, 1] : memref<?x72xf16> to memref<?x72xf16, strided<[72, 1]>>
    %ws = memref.subview %w[0, 0] [%columns, 72] [1, 1] : memref<?x72xf16> to memref<?x72xf16, strided<[72, 1]>>
    %ts = memref.subview %t[0, 0] [%rows, %columns] [1, 1] : memref<64x64xf32> to memref<?x?xf32, strided<[64, 1]>>
    %us = memref.subview %u[0, 0] [%rows, %columns] [1, 1] : memref<64x64xf16> to memref<?x?xf16, strided<[64, 1]>>
    linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%ts : memref<?x?xf32, strided<[64, 1]>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%xs, %ws : memref<?x72xf16, strided<[72, 1]>>, memref<?x72xf16, strided<[72, 1]>>) outs(%ts : memref<?x?xf32, strided<[64, 1]>>) {
    ^bb0(%a: f16, %c: f16, %sum: f32):
      %0 = arith.extf %a : f16 to f32
      %1 = arith.extf %c : f16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%ts : memref<?x?xf32, strided<[64, 1]>>) outs(%us : memref<?x?xf16, strided<[64, 1]>>) {
    ^bb0(%in: f32, %out: f16):
      %0 = arith.negf %in : f32
      %1 = arith.truncf %0 : f32 to f16
      linalg.yield %1 : f16
    }
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%us : memref<?x?xf16, strided<[64, 1]>>) outs(%y : memref<?x?xf16>) {
    ^bb0(%in: f16, %out: f16):
      linalg.yield %in : f16
    }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#across = affine_map<(m, n) -> (n, m)>
#none = affine_map<(m, n) -> ()>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @transposed, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// The reader takes elements of other threads, so that the product needs its temporary, to which it is added.
// CHECK-LABEL: func.func private @transposed(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<64x64xbf16> {{{.+}}})
// CHECK: %[[T:.+]] = memref.alloca() : memref<64x64xf32>
// CHECK: rocdl.mfma
// CHECK: %[[OLD:.+]] = memref.load %[[T]]
// CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[OLD]], %{{.+}} : f32
// CHECK-NEXT: memref.store %[[SUM]], %[[T]]
// CHECK: linalg.generic {{.+}} ins(%[[T]] : memref<64x64xf32>) outs(%[[Y]] : memref<64x64xbf16>)
func.func private @transposed(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x128xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<64x64xbf16> {llvm.align = 16 : i64, llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %c1 = arith.constant 1 : index
  %t = memref.alloca() : memref<64x64xf32>
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#none, #id], iterator_types = ["parallel", "parallel"]}
        ins(%zero : f32) outs(%t : memref<64x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x128xbf16>, memref<64x128xbf16>) outs(%t : memref<64x64xf32>) {
    ^bb0(%a: bf16, %c: bf16, %sum: f32):
      %0 = arith.extf %a : bf16 to f32
      %1 = arith.extf %c : bf16 to f32
      %2 = arith.mulf %0, %1 : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
    linalg.generic {indexing_maps = [#across, #id], iterator_types = ["parallel", "parallel"]}
        ins(%t : memref<64x64xf32>) outs(%y : memref<64x64xbf16>) {
    ^bb0(%in: f32, %out: bf16):
      %0 = arith.truncf %in : f32 to bf16
      linalg.yield %0 : bf16
    }
  }
  return
}

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @across_k, operands = 0 : i64}, {function = @f32, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Rows of the weights lie across K. A thread loads four elements of each of four rows, since eight would leave no work for
// most threads. It stores four elements along K for each of four rows of the stage: two words, whose halves come from
// two loads. All loads are awaited at once.
// CHECK-LABEL: func.func private @across_k(
// CHECK: %[[LEFT:.+]] = llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xi32>
// CHECK: %[[K0:.+]] = llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
// CHECK: %[[K1:.+]] = llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xi32>
// CHECK: llvm.inline_asm has_side_effects "", "v,v,v,v,v" %[[LEFT]], %[[K0]], %[[K1]], %{{.+}}, %{{.+}} :
// CHECK: llvm.store %[[LEFT]], %{{.+}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<3>
// CHECK: %[[A:.+]] = vector.extract %[[K0]][0]
// CHECK: %[[B:.+]] = vector.extract %[[K1]][0]
// CHECK: llvm.call_intrinsic "llvm.amdgcn.perm"(%[[B]], %[[A]], %{{.+}}) : (i32, i32, i32) -> i32
// CHECK-COUNT-4: llvm.store %{{.+}}, %{{.+}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<3>
// CHECK-NOT: llvm.store {{.+}}alignment = 8
// CHECK: gpu.barrier
// CHECK: rocdl.mfma
func.func private @across_k(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x128xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<128x64xbf16> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<64x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, affine_map<(m, n, k) -> (k, n)>, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x128xbf16>, memref<128x64xbf16>) outs(%y : memref<64x64xf32>) {
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
// Elements of f32 stay loops.
// CHECK-LABEL: func.func private @f32(
// CHECK-NOT: rocdl.mfma
func.func private @f32(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<64x128xf32> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x128xf32> {llvm.align = 16 : i64, llvm.noalias},
    %y: memref<64x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x128xf32>, memref<64x128xf32>) outs(%y : memref<64x64xf32>) {
    ^bb0(%a: f32, %c: f32, %sum: f32):
      %2 = arith.mulf %a, %c : f32
      %3 = arith.addf %sum, %2 : f32
      linalg.yield %3 : f32
    }
  }
  return
}
