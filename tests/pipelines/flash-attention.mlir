// RUN: ark-opt %s --split-input-file --ark-compile-to=kernel --ark-target=cuda:sm_90a --ark-expand-attention --ark-flash-attention | FileCheck %s

// The body of an attention is one loop over the keys, without a buffer of scores.
// CHECK-LABEL: ark.kernel @masked
// CHECK: func.func private @body_attention(
// CHECK-NOT: linalg.
// CHECK: nvvm.mma.sync
// CHECK: math.exp
// CHECK: nvvm.mma.sync
// CHECK-NOT: linalg.
// CHECK: memref.store %{{.+}} : memref<4x2x64xbf16
// CHECK-NOT: linalg.
// CHECK: return
ark.program @masked(%q: tensor<2x8x2x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"}, %k: tensor<2x2x160x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"}, %v: tensor<2x2x160x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"}, %mask: tensor<2x160xbf16> {ark.kind = #ark.kind<input>, ark.name = "mask"}, %length: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.max = 160 : i64, ark.name = "length"}) -> (tensor<2x8x2x64xbf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v mask %mask kv_length %length scale = 1.250000e-01 {causal} : (tensor<2x8x2x64xbf16>, tensor<2x2x160x64xbf16>, tensor<2x2x160x64xbf16>, tensor<2x160xbf16>, tensor<i32>) -> tensor<2x8x2x64xbf16>
  ark.return %0 : tensor<2x8x2x64xbf16>
}

// -----

// For each partition of the keys, the body stores accumulators, the largest score and the sum of exponentials.
// CHECK-LABEL: ark.kernel @partitions
// CHECK: func.func private @body_partial_attention{{.*}}(
// CHECK-NOT: linalg.
// CHECK: nvvm.mma.sync
// CHECK: math.exp
// CHECK: nvvm.mma.sync
// CHECK-NOT: linalg.
// CHECK: memref.store %{{.+}} : memref<4x64xf32
// CHECK: memref.store %{{.+}} : memref<4x1xf32
// CHECK: memref.store %{{.+}} : memref<4x1xf32
// CHECK: return
ark.program @partitions(%q: tensor<1x8x1x64xf16> {ark.kind = #ark.kind<input>, ark.name = "q"}, %k: tensor<1x2x4096x64xf16> {ark.kind = #ark.kind<input>, ark.name = "k"}, %v: tensor<1x2x4096x64xf16> {ark.kind = #ark.kind<input>, ark.name = "v"}, %length: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.max = 4096 : i64, ark.name = "length"}) -> (tensor<1x8x1x64xf16> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %v kv_length %length scale = 1.250000e-01 : (tensor<1x8x1x64xf16>, tensor<1x2x4096x64xf16>, tensor<1x2x4096x64xf16>, tensor<i32>) -> tensor<1x8x1x64xf16>
  ark.return %0 : tensor<1x8x1x64xf16>
}
