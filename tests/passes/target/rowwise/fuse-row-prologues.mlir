// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-use-tensor-cores,ark-fuse-row-prologues)' | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-use-tensor-cores,ark-fuse-row-prologues{threads=64})' | FileCheck %s --check-prefix=FEW

// Sixteen warps compute eight rows: two warps compute a row, with two loads per thread.
// The row pitch in shared memory is 64 bytes more than the row.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK-SAME: %[[X:[^:]+]]: memref<8x1024xbf16> {{{[^}]+}}}, %[[G:[^:]+]]: memref<1024xbf16>
// CHECK-NOT: linalg.generic
// CHECK: %[[ROWS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<8x1056xbf16>
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %c32
// CHECK: %[[LANE:.+]] = arith.remui %[[THREAD]], %c32
// CHECK: %[[ROW:.+]] = arith.divui %[[WARP]], %c2
// CHECK: %[[PART:.+]] = arith.remui %[[WARP]], %c2
// All loads come first, and each address is loaded once.
// CHECK-COUNT-2: vector.load %[[X]][%[[ROW]], %{{.+}}] {alignment = 16 : i64} : memref<8x1024xbf16>, vector<8xbf16>
// CHECK-COUNT-2: vector.load %[[G]][%{{.+}}]
// CHECK-NOT: vector.load
// CHECK-COUNT-5: gpu.shuffle xor
// The two warps of a row exchange their partial sums.
// CHECK: memref.store %{{.+}}, %[[SUMS:.+]][%[[WARP]]] : memref<16xf32>
// CHECK: gpu.barrier
// CHECK: %[[FIRST:.+]] = arith.muli %[[ROW]], %c2
// CHECK: %[[OF:.+]] = arith.addi %[[FIRST]], %{{.+}}
// CHECK: memref.load %[[SUMS]][%[[OF]]]
// CHECK-COUNT-1: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: math.rsqrt
// CHECK-COUNT-2: vector.store %{{.+}}, %[[ROWS]][%[[ROW]], %{{.+}}] {alignment = 16 : i64} : memref<8x1056xbf16>, vector<8xbf16>
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK: scf.for
// CHECK: vector.load %[[ROWS]]
// CHECK: nvvm.mma.sync
ark.program @eightRows(%x: tensor<8x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<2048x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x2048xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<8x1024xbf16>, tensor<1024xbf16>) -> tensor<8x1024xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<8x1024xbf16>, tensor<2048x1024xbf16>) -> tensor<8x2048xbf16>
  ark.return %1 : tensor<8x2048xbf16>
}

// -----

// Each of three rows has four warps; four more warps repeat the last row. The mean is subtracted before squares are added.
// CHECK-LABEL: func.func private @body_layernorm_matmul(
// CHECK: memref.alloca() {{.*}} : memref<3x2080xf16>
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %c32
// CHECK: arith.minui %[[WARP]], %c11
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-COUNT-7: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-COUNT-2: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: %[[IS:.+]] = arith.cmpi ult, %[[WARP]], %c12
// CHECK: scf.if %[[IS]] {
// CHECK-COUNT-2: vector.store
// CHECK: scf.for
ark.program @threeRows(%x: tensor<3x2048xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2048xf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<8192x2048xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<3x8192xf16> {ark.name = "y"}) {
  %0 = ark.layernorm %x weight %g eps = 1.0e-5 : (tensor<3x2048xf16>, tensor<2048xf16>) -> tensor<3x2048xf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<3x2048xf16>, tensor<8192x2048xf16>) -> tensor<3x8192xf16>
  ark.return %1 : tensor<3x8192xf16>
}

// -----

// The pass fuses neither rows that no whole number of warp loads covers, ...
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK-NOT: gpu.shuffle
// CHECK: linalg.generic {{.*}}"reduction"{{.*}} outs(%{{.+}} : memref<8xf32>)
// CHECK: scf.for
ark.program @ragged(%x: tensor<8x1000xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x1000xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<8x2048xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x eps = 1.0e-5 : (tensor<8x1000xbf16>) -> tensor<8x1000xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<8x1000xbf16>, tensor<2048x1000xbf16>) -> tensor<8x2048xbf16>
  ark.return %1 : tensor<8x2048xbf16>
}

// -----

// ... nor rows that exceed the registers of their warps.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK: gpu.shuffle
// FEW-LABEL: ark.kernel @long
// FEW-NOT: gpu.shuffle
// FEW: linalg.generic {{.*}}"reduction"{{.*}} outs(%{{.+}} : memref<2xf32>)
// FEW: scf.for
ark.program @long(%x: tensor<2x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<2x2048xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x eps = 1.0e-5 : (tensor<2x8192xbf16>) -> tensor<2x8192xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<2x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<2x2048xbf16>
  ark.return %1 : tensor<2x2048xbf16>
}

// -----

// All warps compute the single row of a streamed product, eight bytes per thread.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK: memref.alloca() {{.*}} : memref<1x2048xbf16>
// CHECK: scf.forall (%{{.+}}) in (512) {
// CHECK-COUNT-2: vector.load {{.*}} vector<4xbf16>
// CHECK-NOT: vector.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-COUNT-1: vector.store
ark.program @oneRow(%x: tensor<1x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<2048x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x2048xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<1x2048xbf16>, tensor<2048xbf16>) -> tensor<1x2048xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
  ark.return %1 : tensor<1x2048xbf16>
}

// -----

// Ten of sixteen warps share a row of 2560 elements, eight of them for each thread. Threads without one of the ten
// sums contribute zeros.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK: memref.alloca() {{.*}} : memref<1x2560xbf16>
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %c32
// CHECK: arith.minui %[[WARP]], %c9
// CHECK-COUNT-2: vector.load {{.*}} vector<8xbf16>
// CHECK-NOT: vector.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: gpu.barrier
// CHECK: %[[OF16:.+]] = arith.remui %{{.+}}, %c16
// CHECK: arith.minui %[[OF16]], %c9
// CHECK: %[[SUM:.+]] = memref.load
// CHECK: %[[HAS:.+]] = arith.cmpi ult, %[[OF16]], %c10
// CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: arith.select %[[HAS]], %[[SUM]], %[[ZERO]] : f32
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: %[[IS:.+]] = arith.cmpi ult, %[[WARP]], %c10
// CHECK: scf.if %[[IS]] {
// CHECK-COUNT-1: vector.store
ark.program @tenWarps(%x: tensor<1x2560xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2560xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<2048x2560xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x2048xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<1x2560xbf16>, tensor<2560xbf16>) -> tensor<1x2560xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<1x2560xbf16>, tensor<2048x2560xbf16>) -> tensor<1x2048xbf16>
  ark.return %1 : tensor<1x2048xbf16>
}

// -----

// Sixteen rows, one per warp: a thread has 64 elements of its row, and loads the weights of the norm after the sum.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul(
// CHECK-SAME: %[[X:[^:]+]]: memref<16x2048xbf16> {{{[^}]+}}}, %[[G:[^:]+]]: memref<2048xbf16>
// CHECK: scf.forall (%{{.+}}) in (512) {
// CHECK-COUNT-8: vector.load %[[X]]
// CHECK-NOT: vector.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: math.rsqrt
// CHECK-COUNT-8: vector.load %[[G]]
// CHECK-NOT: vector.load %[[G]]
ark.program @sixteen(%x: tensor<16x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %w: tensor<4096x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<16x4096xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<16x2048xbf16>, tensor<2048xbf16>) -> tensor<16x2048xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<16x2048xbf16>, tensor<4096x2048xbf16>) -> tensor<16x4096xbf16>
  ark.return %1 : tensor<16x4096xbf16>
}
