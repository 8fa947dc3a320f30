// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)' | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_86 --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)' | FileCheck %s --check-prefix=OLD
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights{max-depth=0})' | FileCheck %s --check-prefix=OLD

// RUN: ark-opt %s --split-input-file '--ark-target=#ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 8, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>' --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)' | FileCheck %s --check-prefix=OLD
// RUN: ark-opt %s --split-input-file '--ark-target=#ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 32, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>' --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)' | FileCheck %s --check-prefix=OLD

// No streaming before sm_90, which introduces bulk copies, with the option that turns rings off, or with other than
// 16 warps: fewer warps would read only some of the chunks, and more would read chunks that nothing copies.
// OLD-NOT: ark_stream_segment_table
// OLD-NOT: ark.cta_collective

// The stream of each lane, in chunks of 1024 bytes: 64 rows on 16 lanes or more.
// CHECK: llvm.mlir.global internal constant @ark_stream_segment_table(dense<{{.*}}> : tensor<{{.*}}xi64>)
// CHECK-SAME: addr_space = 1
// CHECK-LABEL: ark.kernel @plain
// CHECK-SAME: shared_memory =

// The row is an argument of the body. The products are stored in a temporary, which the loop over vCTAs reads.
// CHECK-LABEL: func.func private @body_matmul(
// CHECK-SAME: %[[BEGIN:[^:]+]]: index, %[[END:[^:]+]]: index
// CHECK: %[[ONE:.+]] = arith.constant 1 : i32
// CHECK: call @ark_stream_begin_work_item(%[[ONE]])
// CHECK: %[[SUMS:.+]] = memref.alloca() {{.*}} : memref<1x{{[0-9]+}}xf32>
// CHECK: call @body_matmul_stream(%[[BEGIN]], %[[END]], %{{.+}}, %[[SUMS]]) {ark.cta_collective = 1 : i64}
// CHECK: scf.for %[[VCTA:.+]] = %[[BEGIN]] to %[[END]]
// CHECK: arith.subi %[[VCTA]], %[[BEGIN]]
// CHECK: memref.subview %[[SUMS]][0, %{{.+}}]
// CHECK-NOT: "reduction"
// CHECK: return

// All loads of the row come before the wait for the first chunk.
// CHECK-LABEL: func.func private @body_matmul_stream(
// CHECK-COUNT-2: vector.load %{{.+}} : memref<1x512xbf16>, vector<8xbf16>
// CHECK: %[[OPEN:.+]]:9 = call @ark_stream_open()
// CHECK: scf.for %[[CHUNK:.+]] = %[[OPEN]]#0 to %[[OPEN]]#1 step %{{.+}} iter_args(%[[READ:.+]] = %[[OPEN]]#2
// CHECK: %[[SLOT:.+]] = func.call @ark_stream_consumer_wait(%[[READ]])
// CHECK-COUNT-2: llvm.load %{{.+}} : !llvm.ptr<3> -> vector<8xbf16>
// CHECK: func.call @ark_stream_consumer_release
// An mma takes the loaded words unchanged, and every second word of the row.
// The sums are on the diagonals of the accumulators of two mma.
// CHECK-NOT: math.fma
// CHECK-COUNT-4: nvvm.mma.sync A[%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}] B[%{{[0-9]+}}, %{{[0-9]+}}] C[{{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
// CHECK: %[[OWN:.+]] = arith.select
// CHECK: gpu.shuffle xor %[[OWN]], %c4_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c9_i32
// CHECK: gpu.shuffle xor %{{.+}}, %c18_i32
// CHECK: scf.if
// CHECK: arith.divui %[[CHUNK]]
// CHECK-NEXT: memref.store
// CHECK: call @ark_stream_close

// The kernel's callbacks call the functions for streaming.
// CHECK: func.func private @ark_begin_stream(
// CHECK-NEXT: call @ark_stream_begin
// CHECK: func.func private @ark_idle()
// CHECK-NEXT: call @ark_stream_during_wait
// No lane polls for packets in this kernel.
// CHECK: func.func private @ark_end_work_item()
// CHECK-NEXT: return
// CHECK: func.func private @ark_stream_polls() -> i32
// CHECK-NEXT: arith.constant 0 : i32
// CHECK: func.func private @ark_stream_depth() -> i32
// CHECK-NEXT: arith.constant 5 : i32
// The rings hold all chunks of a work item, so that they are filled between work items.
// CHECK: func.func private @ark_stream_request_interval() -> i32
// CHECK-NEXT: arith.constant 65 : i32
ark.program @plain(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xbf16>, tensor<64x512xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// Ops before the loop compute the row; the residual is loaded before the
// products.
// CHECK-LABEL: ark.kernel @normed
// CHECK-LABEL: func.func private @body_rmsnorm_matmul_add(
// CHECK: %[[COPY:.+]] = memref.alloca() {{.*}} : memref<1x{{[0-9]+}}xbf16>
// CHECK: %[[ROW:.+]] = memref.alloca() {{.*}} : memref<1x512xbf16>
// CHECK: math.rsqrt
// CHECK: linalg.generic {{.*}} outs(%[[ROW]] : memref<1x512xbf16>)
// CHECK: call @body_rmsnorm_matmul_add_stream(%{{[^,]+}}, %{{[^,]+}}, %[[ROW]], {{.*}}) {ark.cta_collective = 2 : i64}
// CHECK: scf.for
// CHECK: memref.subview %[[COPY]]
// CHECK-LABEL: func.func private @body_rmsnorm_matmul_add_stream(
// CHECK: memref.load %{{.+}} : memref<1x64xbf16>
// CHECK: vector.load %{{.+}} : memref<1x512xbf16>
// CHECK: memref.store %{{.+}} : memref<1x{{[0-9]+}}xbf16>
// CHECK: call @ark_stream_open
ark.program @normed(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %r: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "r"},
    %g: tensor<512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<1x512xbf16>, tensor<512xbf16>) -> tensor<1x512xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<1x512xbf16>, tensor<64x512xbf16>) -> tensor<1x64xbf16>
  %2 = ark.add %1, %r : (tensor<1x64xbf16>, tensor<1x64xbf16>) -> tensor<1x64xbf16>
  ark.return %2 : tensor<1x64xbf16>
}

// -----

// The pass does not stream an operand that is written during an iteration, ...
// CHECK-LABEL: ark.kernel @input
// CHECK-NOT: call @ark_stream_begin_work_item
ark.program @input(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xbf16>, tensor<64x512xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// ... rows whose size is not a multiple of 16 bytes, ...
// CHECK-LABEL: ark.kernel @unaligned
// CHECK-NOT: call @ark_stream_begin_work_item
ark.program @unaligned(%x: tensor<1x516xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x516xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x516xbf16>, tensor<64x516xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// ... rows that cannot be split into 2, 4, 8, 16 or 32 chunks of a multiple of 16 bytes, ...
// CHECK-LABEL: ark.kernel @indivisible
// CHECK-NOT: call @ark_stream_begin_work_item
ark.program @indivisible(%x: tensor<1x2568xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x2568xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x2568xbf16>, tensor<64x2568xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// ... rows smaller than one load of a warp, ...
// CHECK-LABEL: ark.kernel @narrow
// CHECK-NOT: call @ark_stream_begin_work_item
ark.program @narrow(%x: tensor<1x248xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x248xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x248xbf16>, tensor<64x248xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// ... fp8 rows with wider weights, ...
// CHECK-LABEL: ark.kernel @narrowRow
// CHECK-NOT: call @ark_stream_begin_work_item
ark.program @narrowRow(%x: tensor<1x512xf8E5M2> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xf8E5M2>, tensor<64x512xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// ... and weights that are multiplied with several rows.
// CHECK-LABEL: ark.kernel @batch
// CHECK-NOT: call @ark_stream_begin_work_item
ark.program @batch(%x: tensor<3x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<3x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<3x512xbf16>, tensor<64x512xbf16>) -> tensor<3x64xbf16>
  ark.return %0 : tensor<3x64xbf16>
}

// -----

// The checked index is read in the loop, so the row is computed there. Products before the loop would read a
// row that is not complete.
// CHECK-LABEL: ark.kernel @picked
// CHECK-NOT: ark_stream_begin_work_item
// CHECK-LABEL: func.func private @body_gather_rmsnorm_matmul(
// CHECK: scf.for
// CHECK: call @ark_report_index
// CHECK: math.rsqrt
// CHECK: "reduction"
ark.program @picked(%x: tensor<1x16x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %g: tensor<512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<64x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.gather %x, %i axis = 1 : (tensor<1x16x512xbf16>, tensor<i32>) -> tensor<1x512xbf16>
  %1 = ark.rmsnorm %0 weight %g eps = 1.0e-5 : (tensor<1x512xbf16>, tensor<512xbf16>) -> tensor<1x512xbf16>
  %2 = ark.matmul %1, %w {transpose_other} : (tensor<1x512xbf16>, tensor<64x512xbf16>) -> tensor<1x64xbf16>
  ark.return %2 : tensor<1x64xbf16>
}

// -----

// A work item reads more than the rings hold: its own loads keep memory busy, and copies for later work items
// would compete with them.
// CHECK-LABEL: ark.kernel @long
// CHECK: func.func private @ark_stream_request_interval() -> i32
// CHECK-NEXT: arith.constant 130 : i32
ark.program @long(%x: tensor<1x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8192x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x8192xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<1x8192xbf16>
  ark.return %0 : tensor<1x8192xbf16>
}

// -----

// fp16 weights, and a type without an mma.
// CHECK-LABEL: ark.kernel @halves
// CHECK-LABEL: func.func private @body_matmul_stream(
// CHECK-NOT: math.fma
// CHECK-COUNT-4: nvvm.mma.sync {{.*}} -> !llvm.struct<(f32, f32, f32, f32)>
// CHECK-NOT: nvvm.mma.sync
// CHECK: return
ark.program @halves(%x: tensor<1x512xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xf16>, tensor<64x512xf16>) -> tensor<1x64xf16>
  ark.return %0 : tensor<1x64xf16>
}

// -----

// CHECK-LABEL: ark.kernel @singles
// CHECK-LABEL: func.func private @body_matmul_stream(
// CHECK-NOT: nvvm.mma.sync
// CHECK-COUNT-16: math.fma
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle xor
// CHECK: return
ark.program @singles(%x: tensor<1x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xf32>, tensor<64x512xf32>) -> tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// fp8 weights: one load has 16 of them, and 16 elements of the row; threads widen both.
// CHECK-LABEL: ark.kernel @eights
// CHECK-LABEL: func.func private @body_matmul_stream(
// CHECK: vector.load %{{.+}} : memref<1x512xbf16>, vector<16xbf16>
// CHECK-NOT: vector.load
// CHECK: %[[SLOT:.+]] = func.call @ark_stream_consumer_wait
// CHECK: %[[BYTES:.+]] = llvm.load %{{.+}} : !llvm.ptr<3> -> vector<16xi8>
// CHECK: arith.bitcast %[[BYTES]] : vector<16xi8> to vector<16xf8E4M3FN>
// CHECK-COUNT-16: math.fma
// CHECK-NOT: math.fma
// CHECK: call @ark_stream_close
ark.program @eights(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xbf16>, tensor<64x512xf8E4M3FN>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// Half of a row has 2560 bytes, the most that a thread loads with five loads.
// CHECK-LABEL: func.func private @body_matmul_stream(
// CHECK: scf.for {{.*}} step %c16
// CHECK-COUNT-5: llvm.load {{.*}} vector<8xbf16>
// CHECK-NOT: llvm.load
// CHECK: func.call @ark_stream_consumer_release
// CHECK-COUNT-10: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
ark.program @fiveLoads(%x: tensor<1x2560xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x2560xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x2560xbf16>, tensor<64x2560xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// A row has 1280 bytes: all threads load twice, and the first 16 threads a
// third time. The others repeat their first load and multiply it by zeros.
// CHECK-LABEL: func.func private @body_matmul_stream(
// CHECK: %[[LANE:.+]] = arith.remui %{{.+}}, %c32
// CHECK: %[[HAS_THIRD:.+]] = arith.cmpi ult, %[[LANE]], %c16
// CHECK: %[[COLUMN:.+]] = arith.select %[[HAS_THIRD]], %{{.+}}, %{{.+}} : index
// CHECK: %[[FIRST:.+]] = vector.load {{.*}} vector<8xbf16>
// CHECK: %[[SECOND:.+]] = vector.load {{.*}} vector<8xbf16>
// CHECK: %[[THIRD:.+]] = vector.load %{{.+}}[%{{.+}}, %[[COLUMN]]] {{.*}} vector<8xbf16>
// CHECK: %[[ISIN:.+]] = arith.cmpi ult, %[[LANE]], %c16
// CHECK: arith.select %[[ISIN]], %[[THIRD]], %{{.+}} : vector<8xbf16>
// CHECK: func.call @ark_stream_consumer_wait
// CHECK-COUNT-2: llvm.load {{.*}} vector<8xbf16>
// CHECK: arith.select %{{.+}}, %{{.+}}, %{{.+}} : !llvm.ptr<3>
// CHECK: %[[LOADED:.+]] = llvm.load {{.*}} vector<8xbf16>
// CHECK: arith.select %{{.+}}, %[[LOADED]], %{{.+}} : vector<8xbf16>
// CHECK: func.call @ark_stream_consumer_release
// CHECK-COUNT-6: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
ark.program @cutShort(%x: tensor<1x640xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x640xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x640xbf16>, tensor<64x640xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// A row has 32 chunks: each warp reads two of them, and adds both to the same accumulators.
// CHECK-LABEL: func.func private @body_matmul(
// CHECK: memref.alloca() {{.*}} : memref<16x{{[0-9]+}}xf32>
// CHECK-LABEL: func.func private @body_matmul_stream(
// CHECK: scf.for {{.*}} step %c32
// CHECK: func.call @ark_stream_consumer_wait
// CHECK: func.call @ark_stream_consumer_release
// CHECK: func.call @ark_stream_consumer_wait
// CHECK: func.call @ark_stream_consumer_release
// CHECK-NOT: func.call @ark_stream_consumer_wait
// CHECK: memref.store
// CHECK: call @ark_stream_close
ark.program @twoChunks(%x: tensor<1x25600xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x25600xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x25600xbf16>, tensor<64x25600xbf16>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}
