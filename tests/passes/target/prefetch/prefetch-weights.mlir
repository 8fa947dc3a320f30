// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-use-tensor-cores,ark-prefetch-weights)' | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-use-tensor-cores,ark-prefetch-weights{threads=128})' | FileCheck %s --check-prefix=FEW
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-use-tensor-cores,ark-prefetch-weights)' | FileCheck %s --check-prefix=COUNTERS

// A work item that receives packets prefetches before it polls: for a tile of 64 rows by 4096 bytes, four lines
// of each row, one per thread. The tile belongs to the first vCTA of the work item.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK-SAME: %[[BEGIN:[^:]+]]: index
// CHECK-SAME: %[[W:[^:]+]]: memref<8448x2048xbf16>
// CHECK-NOT: memref.load
// CHECK-NOT: ark.receive_packets
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[ROW:.+]] = affine.apply #{{.+}}(%[[BEGIN]])
// CHECK: %[[ALL:.+]] = memref.extract_aligned_pointer_as_index %[[W]]
// CHECK: %[[DISTANCE:.+]] = arith.muli %[[ROW]], %c4096
// CHECK: %[[TILE:.+]] = arith.addi %[[ALL]], %[[DISTANCE]]
// CHECK: %[[OWN:.+]] = arith.addi %[[THREAD]], %c0
// CHECK: arith.cmpi ult, %[[OWN]], %c256
// CHECK-NEXT: scf.if
// CHECK: arith.divui %[[OWN]], %c4
// CHECK: arith.remui %[[OWN]], %c4
// CHECK: arith.muli %{{.+}}, %c1024
// CHECK: llvm.inline_asm {{.*}}"prefetch.global.L2 [$0];"
// CHECK-NOT: prefetch.global
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK: ark.receive_packets
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// With half as many threads as lines, each thread prefetches two lines.
// FEW-LABEL: func.func private @body_rmsnorm_matmul(
// FEW: scf.forall (%[[THREAD:.+]]) in (128) {
// FEW-NOT: scf.if
// FEW: prefetch.global.L2
// FEW: arith.addi %[[THREAD]], %c128
// FEW: prefetch.global.L2
// FEW-NOT: prefetch
// FEW: scf.for
// The weights of a work item behind a wait are prefetched before the wait, by a separate function.
// COUNTERS-NOT: prefetch.global
// COUNTERS: func.func private @ark_prefetch_ahead(
// COUNTERS-NEXT: call @ark_prefetch_next_work_item(
// COUNTERS: func.func private @ark_execute_work_item(
// COUNTERS: call @body_matmul(
// COUNTERS: call @body_rmsnorm_matmul(
// COUNTERS-NOT: prefetch.global
// COUNTERS: func.func private @ark_prefetch_work_item(
// COUNTERS: call @prefetch_body_matmul(
// COUNTERS: call @prefetch_body_rmsnorm_matmul(
// COUNTERS-NOT: call
// COUNTERS: func.func private @prefetch_body_matmul(
// COUNTERS: func.func private @prefetch_body_rmsnorm_matmul(
// COUNTERS-SAME: %[[BEGIN:[^:]+]]: index
// COUNTERS-SAME: %[[W:[^:]+]]: memref<8448x2048xbf16>
// COUNTERS-NEXT: %[[THREAD:.+]] = gpu.thread_id x
// COUNTERS-NEXT: affine.apply #{{.+}}(%[[BEGIN]])
// COUNTERS-NEXT: memref.extract_aligned_pointer_as_index %[[W]]
// COUNTERS: prefetch.global.L2
// COUNTERS-NEXT: }
// COUNTERS-NEXT: return
ark.program @large(%x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %v: tensor<2048x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %w: tensor<8448x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x8448xbf16> {ark.name = "y"}) {
  %h = ark.matmul %x, %v {transpose_other} : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16>
  %0 = ark.rmsnorm %h weight %g eps = 1.0e-5 : (tensor<8x2048xbf16>, tensor<2048xbf16>) -> tensor<8x2048xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<8x2048xbf16>, tensor<8448x2048xbf16>) -> tensor<8x8448xbf16>
  ark.return %1 : tensor<8x8448xbf16>
}

// -----

// 16 rows of 4096 bytes are 64 KB: every second line of each row is prefetched. Smaller tiles are not.
// CHECK-LABEL: func.func private @body_matmul(
// CHECK-SAME: memref<2112x2048xbf16>
// CHECK-LABEL: func.func private @prefetch_body_matmul(
// CHECK: arith.divui %{{.+}}, %c16
// CHECK: arith.muli %{{.+}}, %c256
// CHECK: llvm.inline_asm {{.*}}"prefetch.global.L2 [$0];"
// CHECK-NOT: prefetch.global
ark.program @least(%x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2112x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x2112xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<8x2048xbf16>, tensor<2112x2048xbf16>) -> tensor<8x2112xbf16>
  ark.return %0 : tensor<8x2112xbf16>
}

// -----

// CHECK-LABEL: func.func private @body_matmul(
// CHECK-NOT: prefetch.global
// CHECK: nvvm.mma.sync
// CHECK-NOT: @ask_
ark.program @small(%x: tensor<8x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2112x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x2112xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<8x1024xbf16>, tensor<2112x1024xbf16>) -> tensor<8x2112xbf16>
  ark.return %0 : tensor<8x2112xbf16>
}

// -----

// The rings serve products of one row.
// CHECK-LABEL: func.func private @body_matmul(
// CHECK-NOT: prefetch.global
// CHECK-NOT: @ask_
ark.program @one(%x: tensor<1x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8448x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x8448xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x2048xbf16>, tensor<8448x2048xbf16>) -> tensor<1x8448xbf16>
  ark.return %0 : tensor<1x8448xbf16>
}
