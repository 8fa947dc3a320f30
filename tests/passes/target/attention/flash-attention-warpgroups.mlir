// Warpgroups compute attention with blocks of 64 rows. With fewer blocks than warpgroups, several warpgroups share the
// keys of a block. The accumulators of the first product become the left operand of the second one in registers.

// RUN: ark-opt %s --split-input-file --ark-compile-to=kernel --ark-target=cuda:sm_90a --ark-expand-attention --ark-flash-attention --canonicalize | FileCheck %s

// Queries of 256 rows, and three stages of 64 keys and values: 80 KB.
// CHECK-LABEL: func.func private @body_attention(
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<20480xf32>
// CHECK: scf.forall (%{{.*}}) in (512) {
// CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<3>
// Copies of two steps begin before the loop.
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// No key of the first loop is beyond the end, and all rows admit its keys. The last row of a tile is the first one that
// admits the last key.
// CHECK: %[[END:.*]] = arith.muli %{{.*}}, %c64{{.*}} : index
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[END]] step %c64
// CHECK: nvvm.cp.async.wait.group 1
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: gpu.barrier
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 64, k = 16>
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK-NOT: arith.cmpi sle
// CHECK: nvvm.wgmma.fence.aligned
// CHECK-COUNT-4: llvm.inline_asm {{.*}}wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 1;
// CHECK: nvvm.wgmma.wait.group.sync.aligned 0
// CHECK: scf.for %{{.*}} = %[[END]] to %{{.*}} step %c64
// CHECK: arith.cmpi sle
// CHECK-NOT: nvvm.mma.sync
ark.program @causal(
    %q: tensor<1x36x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x36x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x36x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x36x1024x64xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 {causal} : (tensor<1x36x1024x64xbf16>, tensor<1x36x1024x64xbf16>, tensor<1x36x1024x64xbf16>) -> tensor<1x36x1024x64xbf16>
  ark.return %0 : tensor<1x36x1024x64xbf16>
}

// -----

// A thread holds the scores of 32 keys at once, since its accumulators have 64 numbers. Queries have two panels.
// CHECK-LABEL: func.func private @body_attention(
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<40960xf32>
// CHECK-COUNT-8: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<3>
// CHECK-COUNT-8: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 32, k = 16>
// CHECK-COUNT-2: llvm.inline_asm {{.*}}wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
// CHECK-COUNT-8: nvvm.wgmma.mma_async {{.*}} <m = 64, n = 32, k = 16>
// CHECK-COUNT-2: llvm.inline_asm {{.*}}wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16
ark.program @deep(
    %q: tensor<1x36x1024x128xf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x36x512x128xf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x36x512x128xf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x36x1024x128xf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 : (tensor<1x36x1024x128xf16>, tensor<1x36x512x128xf16>, tensor<1x36x512x128xf16>) -> tensor<1x36x1024x128xf16>
  ark.return %0 : tensor<1x36x1024x128xf16>
}

// -----

// A depth of 96 is not a whole number of panels. Warps multiply with their own instruction.
// CHECK-LABEL: func.func private @body_attention(
// CHECK: nvvm.mma.sync
// CHECK-NOT: wgmma
ark.program @odd_depth(
    %q: tensor<1x36x1024x96xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x36x512x96xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x36x512x96xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x36x1024x96xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 : (tensor<1x36x1024x96xbf16>, tensor<1x36x512x96xbf16>, tensor<1x36x512x96xbf16>) -> tensor<1x36x1024x96xbf16>
  ark.return %0 : tensor<1x36x1024x96xbf16>
}

// -----

// Tiles of 64 rows, since there would be too few larger ones. Four warpgroups share the keys: a stage has 64 keys for
// each of them, and the first warpgroup adds the partial results of the others.
// CHECK-LABEL: func.func private @body_attention(
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<34816xf32>
// CHECK: scf.forall (%{{.*}}) in (512) {
// CHECK: scf.for
// CHECK: nvvm.wgmma.mma_async
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult, %{{.+}}, %c3
// CHECK-NEXT: scf.if
// CHECK-COUNT-9: llvm.store %{{.+}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<3>
// CHECK: gpu.barrier
// CHECK-COUNT-27: llvm.load %{{.+}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<4xf32>
// CHECK-NOT: -> vector<4xf32>
ark.program @few_tiles(
    %q: tensor<1x4x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x4x512x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x4x512x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x4x1024x64xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 : (tensor<1x4x1024x64xbf16>, tensor<1x4x512x64xbf16>, tensor<1x4x512x64xbf16>) -> tensor<1x4x1024x64xbf16>
  ark.return %0 : tensor<1x4x1024x64xbf16>
}

// -----

// Four stages of keys with a depth of 128 do not fit twice, so that two warpgroups share the keys. The other two
// compute the same results, and store neither partial nor final results.
// CHECK-LABEL: func.func private @body_attention(
// CHECK: memref.alloca() {alignment = 1024 : i64} : memref<36864xf32>
// CHECK: nvvm.wgmma.mma_async
// CHECK: gpu.barrier
// CHECK: arith.cmpi ult, %{{.+}}, %c1
// CHECK-NEXT: scf.if
// CHECK: gpu.barrier
// CHECK: arith.cmpi slt, %{{.+}}, %c1
// CHECK-NEXT: scf.if
// CHECK: vector.store
ark.program @duplicates(
    %q: tensor<1x4x64x128xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x4x512x128xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x4x512x128xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x4x64x128xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 : (tensor<1x4x64x128xbf16>, tensor<1x4x512x128xbf16>, tensor<1x4x512x128xbf16>) -> tensor<1x4x64x128xbf16>
  ark.return %0 : tensor<1x4x64x128xbf16>
}

// -----

// 32 rows are half of a block. Warps multiply with their own instruction.
// CHECK-LABEL: func.func private @body_attention(
// CHECK: nvvm.mma.sync
// CHECK-NOT: wgmma
ark.program @few_rows(
    %q: tensor<1x4x32x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x4x512x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x4x512x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x4x32x64xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 : (tensor<1x4x32x64xbf16>, tensor<1x4x512x64xbf16>, tensor<1x4x512x64xbf16>) -> tensor<1x4x32x64xbf16>
  ark.return %0 : tensor<1x4x32x64xbf16>
}

// -----

// The log-sum-exp of a row follows all columns of both rows of a thread, and the thread with the first column stores it.
// The addresses of both results depend on an opaque copy of the number of the vCTA, behind the loop over the keys.
// CHECK-LABEL: func.func private @body_attention_attention_log_sum_exp(
// CHECK: nvvm.wgmma.mma_async
// CHECK: %[[COPY:.+]] = llvm.inline_asm has_side_effects "mov.u32 $0, $1;"
// CHECK: %[[AGAIN:.+]] = arith.index_castui %[[COPY]]
// CHECK: affine.delinearize_index %[[AGAIN]]
// CHECK-NOT: math.log
// CHECK-COUNT-16: vector.store
// CHECK-NOT: vector.store
// CHECK-COUNT-2: math.log
// CHECK-NOT: nvvm.wgmma
ark.program @log_sum_exp(
    %q: tensor<1x36x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x36x512x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x36x512x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<1x36x1024x64xbf16> {ark.name = "y"}, tensor<1x36x1024x1xf32> {ark.name = "lse"}) {
  %0 = ark.attention %q, %k, %v scale = 1.25e-1 : (tensor<1x36x1024x64xbf16>, tensor<1x36x512x64xbf16>, tensor<1x36x512x64xbf16>) -> tensor<1x36x1024x64xbf16>
  %1 = ark.attention_log_sum_exp %q, %k, %v scale = 1.25e-1 : (tensor<1x36x1024x64xbf16>, tensor<1x36x512x64xbf16>, tensor<1x36x512x64xbf16>) -> tensor<1x36x1024x1xf32>
  ark.return %0, %1 : tensor<1x36x1024x64xbf16>, tensor<1x36x1024x1xf32>
}
