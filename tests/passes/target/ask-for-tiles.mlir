// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-use-tensor-cores,ark-ask-for-tiles)' | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-use-tensor-cores,ark-ask-for-tiles{threads=256})' | FileCheck %s --check-prefix=FEW

// A tile of 64 rows by 4096 bytes: a line at eight places of each row, by a thread each, before anything is read. It is the tile
// of the run's first vCTA.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK-SAME: %[[BEGIN:[^:]+]]: index
// CHECK-SAME: %[[W:[^:]+]]: memref<8448x2048xbf16>
// CHECK-NOT: memref.load
// CHECK-NOT: vector.load
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[ROW:.+]] = affine.apply #{{.+}}(%[[BEGIN]])
// CHECK: %[[ALL:.+]] = memref.extract_aligned_pointer_as_index %[[W]]
// CHECK: %[[DISTANCE:.+]] = arith.muli %[[ROW]], %c4096
// CHECK: %[[TILE:.+]] = arith.addi %[[ALL]], %[[DISTANCE]]
// CHECK: %[[OWN:.+]] = arith.addi %[[THREAD]], %c0
// CHECK-NOT: scf.if
// CHECK: arith.divui %[[OWN]], %c8
// CHECK: arith.remui %[[OWN]], %c8
// CHECK: arith.muli %{{.+}}, %c512
// CHECK: llvm.inline_asm {{.*}}"prefetch.global.L2 [$0];"
// CHECK-NOT: prefetch
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK: scf.for
// CHECK: nvvm.mma.sync
// Half as many threads ask twice.
// FEW-LABEL: func.func private @body_rmsnorm_matmul(
// FEW: scf.forall (%[[THREAD:.+]]) in (256) {
// FEW: prefetch.global.L2
// FEW: arith.addi %[[THREAD]], %c256
// FEW: prefetch.global.L2
// FEW-NOT: prefetch
// FEW: scf.for
ark.program @large(%x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<8448x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x8448xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<8x2048xbf16>, tensor<2048xbf16>) -> tensor<8x2048xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<8x2048xbf16>, tensor<8448x2048xbf16>) -> tensor<8x8448xbf16>
  ark.return %1 : tensor<8x8448xbf16>
}

// -----

// All lines of 16 rows by 4096 bytes, which are 64 KB; of smaller tiles, none.
// CHECK-LABEL: func.func private @body_matmul(
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: arith.divui %{{.+}}, %c32
// CHECK: arith.muli %{{.+}}, %c128
// CHECK: llvm.inline_asm {{.*}}"prefetch.global.L2 [$0];"
// CHECK-NOT: prefetch
ark.program @least(%x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2112x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x2112xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<8x2048xbf16>, tensor<2112x2048xbf16>) -> tensor<8x2112xbf16>
  ark.return %0 : tensor<8x2112xbf16>
}

// -----

// CHECK-LABEL: func.func private @body_matmul(
// CHECK-NOT: prefetch
// CHECK: nvvm.mma.sync
ark.program @small(%x: tensor<8x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2112x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x2112xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<8x1024xbf16>, tensor<2112x1024xbf16>) -> tensor<8x2112xbf16>
  ark.return %0 : tensor<8x2112xbf16>
}

// -----

// A product of one row is left to rings.
// CHECK-LABEL: func.func private @body_matmul(
// CHECK-NOT: prefetch
ark.program @one(%x: tensor<1x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8448x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x8448xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x2048xbf16>, tensor<8448x2048xbf16>) -> tensor<1x8448xbf16>
  ark.return %0 : tensor<1x8448xbf16>
}
