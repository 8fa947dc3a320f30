// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-fuse-row-ops)' | FileCheck %s

// The last four warps compute the rows of four query heads, and the warp before them the row of their key head.
// A thread loads each element once, for the sum and for the normalisation; the norm is not stored.
// CHECK-LABEL: func.func private @body_rmsnorm_rmsnorm_rope_rope(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<1x8x1x64xbf16> {{{[^}]+}}}, %[[G:[a-z0-9]+]]: memref<64xbf16>
// CHECK: scf.for
// CHECK: %[[ROWS:.+]] = memref.subview %{{.+}} : memref<1x4x1x64xbf16, {{.+}}> to memref<4x64xbf16
// CHECK-NOT: linalg.generic
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[WARP:.+]] = arith.divui %[[THREAD]], %c32
// CHECK: %[[LANE:.+]] = arith.remui %[[THREAD]], %c32
// CHECK: %[[ROW:.+]] = arith.subi %[[WARP]], %c12
// CHECK: arith.cmpi ult, %[[ROW]], %c4
// CHECK: scf.if
// CHECK-COUNT-2: memref.load %[[ROWS]][%[[ROW]], %{{.+}}]
// CHECK-NOT: memref.load %[[ROWS]]
// CHECK-COUNT-2: memref.load %[[G]][
// CHECK-COUNT-1: memref.load
// CHECK-NOT: memref.load
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: math.rsqrt
// CHECK: memref.store %{{.+}}[%[[ROW]], %{{.+}}] : memref<4x32xbf16
// CHECK: memref.store %{{.+}}[%[[ROW]], %{{.+}}] : memref<4x32xbf16
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: arith.subi %{{.+}}, %c11
// CHECK: arith.cmpi ult, %{{.+}}, %c1
// CHECK: math.rsqrt
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
// Keys are stored in the cache; the attention stays.
// CHECK: linalg.generic
// CHECK: ark.online_attention
// CHECK-NOT: scf.forall
// CHECK: return
ark.program @heads(%q: tensor<1x8x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %g: tensor<64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %h: tensor<64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "h"},
    %c: tensor<1x32xbf16> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x64xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x1x64xbf16> {ark.name = "y"}) {
  %0 = ark.rmsnorm %q weight %g eps = 1.0e-6 : (tensor<1x8x1x64xbf16>, tensor<64xbf16>) -> tensor<1x8x1x64xbf16>
  %1 = ark.rmsnorm %k weight %h eps = 1.0e-6 : (tensor<1x2x1x64xbf16>, tensor<64xbf16>) -> tensor<1x2x1x64xbf16>
  %2 = ark.rope %0, %c, %c : (tensor<1x8x1x64xbf16>, tensor<1x32xbf16>, tensor<1x32xbf16>) -> tensor<1x8x1x64xbf16>
  %3 = ark.rope %1, %c, %c : (tensor<1x2x1x64xbf16>, tensor<1x32xbf16>, tensor<1x32xbf16>) -> tensor<1x2x1x64xbf16>
  %4 = ark.update %3 into %s [0, 0, %p, 0] : (tensor<1x2x64x64xbf16>, tensor<1x2x1x64xbf16>, tensor<i32>) -> tensor<1x2x64x64xbf16>
  %5 = ark.attention %2, %4, %4 scale = 0.125 : (tensor<1x8x1x64xbf16>, tensor<1x2x64x64xbf16>, tensor<1x2x64x64xbf16>) -> tensor<1x8x1x64xbf16>
  ark.return %5 : tensor<1x8x1x64xbf16>
}

// -----

// In rows of 96, each thread has three columns of the sum. In half rows, 16 threads have a second column; the
// other threads load the last column and store nothing.
// CHECK-LABEL: func.func private @body_rmsnorm_rmsnorm_rope_rope(
// CHECK: scf.forall (%[[THREAD:.+]]) in (512) {
// CHECK: %[[LANE:.+]] = arith.remui %[[THREAD]], %c32
// CHECK: arith.minui %{{.+}}, %c95
// CHECK: arith.minui %{{.+}}, %c47
// CHECK: math.rsqrt
// CHECK: memref.store
// CHECK: %[[HAS:.+]] = arith.cmpi ult, %[[LANE]], %c16
// CHECK: scf.if %[[HAS]] {
// CHECK-NEXT: %{{.+}} = arith.constant 32
// CHECK: memref.store
// CHECK: {mapping = [#gpu.thread<linear_dim_0>]}
ark.program @unevenHeads(%q: tensor<1x3x1x96xf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x1x1x96xf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %c: tensor<1x48xf16> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<2x1x64x96xf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<2x3x1x96xf16> {ark.name = "y"}) {
  %a = ark.concat %q, %q axis = 0 : (tensor<1x3x1x96xf16>, tensor<1x3x1x96xf16>) -> tensor<2x3x1x96xf16>
  %b = ark.concat %k, %k axis = 0 : (tensor<1x1x1x96xf16>, tensor<1x1x1x96xf16>) -> tensor<2x1x1x96xf16>
  %0 = ark.rmsnorm %a eps = 1.0e-6 : (tensor<2x3x1x96xf16>) -> tensor<2x3x1x96xf16>
  %1 = ark.rmsnorm %b eps = 1.0e-6 : (tensor<2x1x1x96xf16>) -> tensor<2x1x1x96xf16>
  %2 = ark.rope %0, %c, %c : (tensor<2x3x1x96xf16>, tensor<1x48xf16>, tensor<1x48xf16>) -> tensor<2x3x1x96xf16>
  %3 = ark.rope %1, %c, %c : (tensor<2x1x1x96xf16>, tensor<1x48xf16>, tensor<1x48xf16>) -> tensor<2x1x1x96xf16>
  %4 = ark.update %3 into %s [0, 0, %p, 0] : (tensor<2x1x64x96xf16>, tensor<2x1x1x96xf16>, tensor<i32>) -> tensor<2x1x64x96xf16>
  %5 = ark.attention %2, %4, %4 scale = 0.125 : (tensor<2x3x1x96xf16>, tensor<2x1x64x96xf16>, tensor<2x1x64x96xf16>) -> tensor<2x3x1x96xf16>
  ark.return %5 : tensor<2x3x1x96xf16>
}
