// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 \
// RUN:   --ark-use-tensor-cores=threads=128 | FileCheck %s

// On a GPU without asynchronous copies the product has no stages.
// DEFINE: %{mma} = mma = [#ark.mma<kind = mma_sync, m = 16, n = 8, k = 16, lhs = #ark.fragment<outer = [2, 2], threads = [8, 4], strides = [4, 1], elements = [1, 2]>, rhs = #ark.fragment<outer = [2, 1], threads = [4, 8], strides = [1, 4], elements = [2, 1]>, acc = #ark.fragment<outer = [2, 1], threads = [8, 4], strides = [4, 1], elements = [1, 2]>>]
// RUN: ark-opt %s --split-input-file '--ark-assign-target=target={#ark.target<backend = cuda, arch = "sm_80", sms = 108, warps = 16, shared_memory = 166912, bandwidth = 1850, flops = 250000, handoff = 700, barrier = 1200, overhead = 250, gpu = #ark.gpu<warp_size = 32, %{mma}>>}' --ark-use-tensor-cores=threads=128 \
// RUN:   | FileCheck %s --check-prefix=NO-COPIES
// NO-COPIES-NOT: nvvm.cp.async
// NO-COPIES: nvvm.mma.sync
// NO-COPIES-NOT: nvvm.cp.async

// Loads of weights are instructions of the backend, whatever the matrix instruction is.
// RUN: ark-opt %s --split-input-file '--ark-assign-target=target={#ark.target<backend = hip, arch = "other", sms = 108, warps = 16, shared_memory = 65536, bandwidth = 1850, flops = 250000, handoff = 700, barrier = 1200, overhead = 250, gpu = #ark.gpu<warp_size = 32, %{mma}>>}' --ark-use-tensor-cores=threads=128 \
// RUN:   | FileCheck %s --check-prefix=OTHER --implicit-check-not=inline_asm
// OTHER: llvm.load %{{.+}} {alignment = 16 : i64, nontemporal} : !llvm.ptr<1> -> vector<4xi32>
// OTHER: nvvm.mma.sync

// Without a target there is no matrix instruction.
// RUN: ark-opt %s --split-input-file --ark-use-tensor-cores=threads=128 | FileCheck %s --check-prefix=NO-TARGET --implicit-check-not=nvvm
// NO-TARGET: linalg.generic

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two groups of two warps have 16 rows of weights each, and each warp of a group has half
// of the depth: four k-chunks of 32. A thread loads one row of activations and two rows
// of weights. A reduction adds the partial sums of the warps.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8x256xbf16> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<32x256xbf16> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<8x32xf32>
// CHECK: %[[PARTS:.+]] = memref.alloca() {alignment = 128 : i64} : memref<2x8x36xf32>
// CHECK: scf.for
// CHECK-NEXT: scf.forall (%[[THREAD:.+]]) in (128) {
// CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %c32
// CHECK: %[[LANE:.+]] = arith.remui %[[THREAD]], %c32
// CHECK: %[[TILE:.+]] = arith.divui %[[WARP]], %c2
// CHECK: %[[PART:.+]] = arith.remui %[[WARP]], %c2
// CHECK: %[[ACROSS:.+]] = arith.divui %[[TILE]], %c1
// CHECK: %[[COLUMN:.+]] = arith.muli %[[ACROSS]], %c16
// CHECK: %[[DOWN:.+]] = arith.remui %[[TILE]], %c1
// CHECK: %[[FIRST:.+]] = arith.muli %[[DOWN]], %c8
// CHECK: %[[ROW:.+]] = arith.divui %[[LANE]], %c4
// CHECK: %[[NUMBER:.+]] = arith.remui %[[LANE]], %c4
// CHECK: %[[OWN:.+]] = arith.addi %[[FIRST]], %[[ROW]]
// CHECK: %[[LOW:.+]] = arith.addi %[[COLUMN]], %[[ROW]]
// CHECK: memref.extract_strided_metadata %[[W]]
// CHECK: arith.muli %[[LOW]], %{{.+}}
// CHECK: %[[HIGH:.+]] = arith.addi %[[LOW]], %c8
// CHECK: arith.muli %[[HIGH]], %{{.+}}
// CHECK: %[[A:.+]] = llvm.inline_asm has_side_effects "ld.global.L1::no_allocate.L2::128B.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l" %{{.+}} : (!llvm.ptr<1>)
// CHECK: %[[WORD:.+]] = llvm.extractvalue %[[A]][0]
// CHECK: %[[WORDS:.+]] = vector.from_elements %[[WORD]], %{{.+}} : vector<4xi32>
// CHECK: llvm.inline_asm
// CHECK: vector.load %[[X]][%[[OWN]], %{{.+}}] {alignment = 16 : i64} : memref<8x256xbf16>, vector<8xbf16>
// CHECK-COUNT-6: llvm.inline_asm
// CHECK: vector.load
// CHECK-NOT: llvm.inline_asm
// CHECK: vector.extract %[[WORDS]][0]
// CHECK: vector.extract %[[WORDS]][1]
// CHECK: nvvm.mma.sync {{.+}}multiplicandAPtxType = #nvvm.mma_type<bf16>{{.+}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// CHECK: vector.extract %[[WORDS]][2]
// CHECK: vector.extract %[[WORDS]][3]
// CHECK-COUNT-7: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK: %[[PAIR:.+]] = arith.remui %[[LANE]], %c4
// CHECK: %[[TWICE:.+]] = arith.muli %[[PAIR]], %c2
// CHECK: %[[SUMS:.+]] = arith.addi %[[FIRST]], %[[TWICE]]
// CHECK: memref.store %{{.+}}, %[[PARTS]][%[[PART]], %[[SUMS]], %{{.+}}]
// CHECK-COUNT-3: memref.store
// CHECK-NOT: memref.store
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK: %[[VIEW:.+]] = memref.subview %[[PARTS]][0, 0, 0] [2, 8, 32] [1, 1, 1]
// CHECK: linalg.generic {{.+}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[VIEW]] : {{.+}}) outs(%[[Y]] : memref<8x32xf32>)
// CHECK: arith.addf %{{.+}}, %{{.+}} fastmath<reassoc,contract>
// CHECK-NOT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<32x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x32xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<8x256xbf16>, memref<32x256xbf16>) outs(%y : memref<8x32xf32>) {
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

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two products with one left operand are one loop, before the first reader of either. The
// second product has only eight rows of weights: one load, and zeros for the other half
// of the operand. Ten rows of activations are two blocks; rows beyond the end repeat the
// last row, as do rows of weights beyond the vCTA's. The number of columns of a result is
// a minimum: an `affine.min`, or the arithmetic ops that it is lowered to.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<10x128xf16> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<30x128xf16> {{{.+}}}, %[[V:[a-z0-9]+]]: memref<8x128xf16>
// CHECK-DAG: memref.alloca() {alignment = 128 : i64} : memref<4x16x20xf32>
// CHECK-DAG: memref.alloca() {alignment = 128 : i64} : memref<4x16x20xf32>
// CHECK: %[[ROWS:.+]] = affine.min
// CHECK: %[[TILE:.+]] = memref.subview %[[W]]
// CHECK: scf.forall
// CHECK: %[[COUNT:.+]] = memref.dim %[[TILE]], %{{.+}}
// CHECK: %[[LAST:.+]] = arith.subi %[[COUNT]], %c1
// CHECK: %[[LOW:.+]] = arith.minui %{{.+}}, %[[LAST]]
// CHECK: arith.muli %[[LOW]], %{{.+}}
// CHECK-COUNT-3: llvm.inline_asm {{.+}}ld.global
// CHECK: vector.load %[[X]]
// CHECK: vector.load %[[X]]
// CHECK-NOT: vector.load
// CHECK: llvm.bitcast %{{.+}} : i32 to vector<2xf16>
// CHECK-COUNT-8: nvvm.mma.sync
// CHECK-NOT: scf.forall
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: linalg.generic
// CHECK-NOT: scf.forall
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<10x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<30x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<8x128xf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<10x16xf32> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<10x8xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c30 = arith.constant 30 : index
  scf.for %v = %begin to %end step %c1 {
    %rows = affine.min affine_map<(d0) -> (16, 30 - d0 * 16)>(%v)
    %before = arith.muli %v, %c16 : index
    %after = arith.subi %c30, %before : index
    %columns = arith.minsi %after, %c16 : index
    %first = affine.apply affine_map<(d0) -> (d0 * 16)>(%v)
    %tile = memref.subview %w[%first, 0] [%rows, 128] [1, 1] : memref<30x128xf16> to memref<?x128xf16, strided<[128, 1], offset: ?>>
    %part = memref.subview %y[0, 0] [10, %columns] [1, 1] : memref<10x16xf32> to memref<10x?xf32, strided<[16, 1]>>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %tile : memref<10x128xf16>, memref<?x128xf16, strided<[128, 1], offset: ?>>) outs(%part : memref<10x?xf32, strided<[16, 1]>>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.map { math.exp } ins(%part : memref<10x?xf32, strided<[16, 1]>>) outs(%part : memref<10x?xf32, strided<[16, 1]>>)
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %u : memref<10x128xf16>, memref<8x128xf16>) outs(%z : memref<10x8xf32>) {
      ^bb0(%a: f16, %b: f16, %c: f32):
        %l = arith.extf %a : f16 to f32
        %r = arith.extf %b : f16 to f32
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
// The left operand is computed first. The last chunk of 1000 elements has eight, padded
// with zeros in both operands. Twelve loads are in flight in the loop.
// CHECK-LABEL: func.func private @body(
// CHECK: linalg.copy
// CHECK: scf.forall
// CHECK: %[[IS_THERE:.+]] = arith.cmpi ult, %[[K:.+]], %{{.+}}
// CHECK: %[[LOADED:.+]] = arith.select %[[IS_THERE]], %{{.+}}, %{{.+}} : vector<4xi32>
// CHECK: scf.for {{.+}} iter_args
// CHECK: nvvm.mma.sync
// CHECK: vector.load
// CHECK: nvvm.mma.sync
// CHECK: vector.load
// CHECK: scf.yield
// CHECK: nvvm.mma.sync
// CHECK-NOT: vector.load
// CHECK: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %f: memref<8x1000xbf16> {llvm.align = 16 : i64, llvm.noalias}, %x: memref<8x1000xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x1000xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<8x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.copy ins(%f : memref<8x1000xbf16>) outs(%x : memref<8x1000xbf16>)
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<8x1000xbf16>, memref<64x1000xbf16>) outs(%y : memref<8x64xf32>) {
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

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// With more rows, each warp has four blocks of eight rows and two units of columns: a
// chunk is eight loads for 16 instructions, and one chunk is in flight. Each tile has one
// warp, with the whole depth. No registers remain for values that vCTAs share.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<60x256xbf16> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<64x256xbf16> {{{.+}}}, %[[Y:[a-z0-9]+]]: memref<60x64xf32>
// CHECK: %[[PARTS:.+]] = memref.alloca() {alignment = 128 : i64} : memref<1x64x68xf32>
// CHECK: scf.forall
// CHECK-COUNT-4: vector.load %[[W]]
// CHECK-COUNT-4: vector.load %[[X]]
// CHECK-NOT: vector.load
// CHECK: scf.for
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-COUNT-8: vector.load
// CHECK: scf.yield
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-32: memref.store
// CHECK-NOT: memref.store
// CHECK: {ark.full_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
// CHECK: memref.subview %[[PARTS]][0, 0, 0] [1, 60, 64] [1, 1, 1] : memref<1x64x68xf32> to memref<60x64xf32, strided<[68, 1]>>
// CHECK: linalg.generic {{.+}}iterator_types = ["parallel", "parallel"]}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<60x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<60x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<60x256xbf16>, memref<64x256xbf16>) outs(%y : memref<60x64xf32>) {
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

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Two products of more rows are one loop, too: a warp has 16 rows of both weights.
// CHECK-LABEL: func.func private @body(
// CHECK-DAG: memref.alloca() {alignment = 128 : i64} : memref<1x32x68xf32>
// CHECK-DAG: memref.alloca() {alignment = 128 : i64} : memref<1x32x68xf32>
// CHECK: scf.forall
// CHECK-NOT: scf.forall
// CHECK: linalg.generic
// CHECK: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<24x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %u: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<24x64xf32> {llvm.align = 16 : i64, llvm.noalias}, %z: memref<24x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<24x256xbf16>, memref<64x256xbf16>) outs(%y : memref<24x64xf32>) {
      ^bb0(%a: bf16, %b: bf16, %c: f32):
        %l = arith.extf %a : bf16 to f32
        %r = arith.extf %b : bf16 to f32
        %p = arith.mulf %l, %r : f32
        %s = arith.addf %c, %p : f32
        linalg.yield %s : f32
      }
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %u : memref<24x256xbf16>, memref<64x256xbf16>) outs(%z : memref<24x64xf32>) {
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

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// The temporary leaves no memory for partial sums: accumulators of the whole
// depth are added to the valid part of the result.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[Y:[a-z0-9]+]]: memref<60x60xf32>
// CHECK-NOT: memref.alloca() {alignment = 128 : i64}
// CHECK: scf.forall
// CHECK: nvvm.mma.sync
// CHECK: arith.andi
// CHECK: scf.if
// CHECK-NEXT: %[[OLD:.+]] = memref.load %[[Y]][%[[M:.+]], %[[N:.+]]]
// CHECK-NEXT: %[[NEW:.+]] = arith.addf %[[OLD]], %{{.+}}
// CHECK-NEXT: memref.store %[[NEW]], %[[Y]][%[[M]], %[[N]]]
// CHECK-NOT: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<60x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<60x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<60x60xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %large = memref.alloca() : memref<40000xf32>
  %one = arith.constant 1.0 : f32
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    memref.store %one, %large[%c1] : memref<40000xf32>
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<60x256xbf16>, memref<60x256xbf16>) outs(%y : memref<60x60xf32>) {
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

// -----

#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// Whole tiles pass through shared memory: a stage of two chunks for each of the four steps,
// whose memory the accumulators reuse at the end. Eight threads copy 128 bytes of a row, and all threads 16 rows at once.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64x256xbf16> {{{.+}}}, %[[W:[a-z0-9]+]]: memref<64x256xbf16>
// CHECK: %[[MEMORY:.+]] = memref.alloca() {alignment = 128 : i64} : memref<16512xf32>
// CHECK: %[[PARTS:.+]] = memref.reinterpret_cast %[[MEMORY]] to offset: [0], sizes: [1, 64, 68], strides: [4352, 68, 1]
// CHECK: scf.forall
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[MEMORY]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[X]]
// CHECK-DAG: memref.extract_aligned_pointer_as_index %[[W]]
// CHECK-COUNT-8: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache = cg
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-8: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK-COUNT-8: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: scf.for %[[K:.+]] = %c0{{.*}} to %c256{{.*}} step %c64
// CHECK: nvvm.cp.async.wait.group 2
// CHECK-NEXT: gpu.barrier
// CHECK: arith.cmpi ult
// CHECK-NEXT: scf.if
// CHECK-COUNT-8: nvvm.cp.async.shared.global
// CHECK: }
// CHECK-NEXT: nvvm.cp.async.commit.group
// CHECK-COUNT-8: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xi32>
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK-COUNT-8: llvm.load
// CHECK-COUNT-16: nvvm.mma.sync
// CHECK: scf.yield
// CHECK: gpu.barrier
// CHECK-COUNT-32: memref.store %{{.+}}, %[[PARTS]]
// CHECK: linalg.generic
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %w: memref<64x256xbf16> {llvm.align = 16 : i64, llvm.noalias}, %y: memref<64x64xf32> {llvm.align = 16 : i64, llvm.noalias}) {
  %c1 = arith.constant 1 : index
  scf.for %v = %begin to %end step %c1 {
    linalg.generic {indexing_maps = [#x, #w, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%x, %w : memref<64x256xbf16>, memref<64x256xbf16>) outs(%y : memref<64x64xf32>) {
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
