// RUN: ark-opt %s --ark-split-attention --split-input-file | FileCheck %s

// Eight key heads with sixteen partitions each: the number of SMs less four.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
// CHECK-LABEL: ark.program @keysOfEveryKeyHeadAreSplit
// CHECK-SAME: (%[[Q:.+]]: tensor<1x32x1x64xbf16> {{.*}}, %[[K:.+]]: tensor<1x8x1024x64xbf16> {{.*}}, %[[V:.+]]: tensor<1x8x1024x64xbf16> {{.*}}, %[[N:.+]]: tensor<i32> {{.*}})
ark.program @keysOfEveryKeyHeadAreSplit(
    %q: tensor<1x32x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x8x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<1x8x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<1x32x1x64xbf16> {ark.name = "y"}) {
  // CHECK-NEXT: %[[KEYS:.+]] = ark.reshape %[[K]] shape = [1, 8, 64, 16, 64]
  // CHECK-NEXT: %[[VALUES:.+]] = ark.reshape %[[V]] shape = [1, 8, 64, 16, 64]
  // The only query is at the last valid position, so that the causal mask removes no key.
  // CHECK-NEXT: %[[PARTS:.+]] = ark.partial_attention %[[Q]], %[[KEYS]], %[[VALUES]] kv_length %[[N]] scale = 1.250000e-01 :
  // CHECK-SAME: -> tensor<1x32x1x16x66xf32>
  // CHECK-NEXT: %[[ALL:.+]] = ark.combine_attention %[[PARTS]] : (tensor<1x32x1x16x66xf32>) -> tensor<1x32x1x64xf32>
  // CHECK-NEXT: ark.cast %[[ALL]] to bf16
  %0 = ark.attention %q, %k, %v kv_length %n scale = 1.25e-1 {causal}
    : (tensor<1x32x1x64xbf16>, tensor<1x8x1024x64xbf16>, tensor<1x8x1024x64xbf16>, tensor<i32>) -> tensor<1x32x1x64xbf16>
  ark.return %0 : tensor<1x32x1x64xbf16>
}

// A mask over keys is split like the keys; a mask with extent one in that dimension is the same for all partitions.
// CHECK-LABEL: ark.program @masks
ark.program @masks(
    %q: tensor<2x3x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x4096x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %m: tensor<3x4096xf32> {ark.kind = #ark.kind<input>, ark.name = "m"},
    %one: tensor<3x1xi1> {ark.kind = #ark.kind<input>, ark.name = "one"})
    -> (tensor<2x3x64xf32> {ark.name = "y0"}, tensor<2x3x64xf32> {ark.name = "y1"}) {
  // CHECK: %[[MASK:.+]] = ark.reshape %{{.+}} shape = [3, 64, 64] : (tensor<3x4096xf32>)
  // CHECK: ark.partial_attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[MASK]] scale = 1.000000e+00 {causal}
  %0 = ark.attention %q, %k, %k mask %m scale = 1.0 {causal}
    : (tensor<2x3x64xf32>, tensor<2x4096x64xf32>, tensor<2x4096x64xf32>, tensor<3x4096xf32>) -> tensor<2x3x64xf32>
  // CHECK: %[[ONE:.+]] = ark.reshape %{{.+}} shape = [3, 1, 1] : (tensor<3x1xi1>)
  // CHECK: ark.partial_attention %{{.+}}, %{{.+}}, %{{.+}} mask %[[ONE]] scale
  %1 = ark.attention %q, %k, %k mask %one scale = 1.0
    : (tensor<2x3x64xf32>, tensor<2x4096x64xf32>, tensor<2x4096x64xf32>, tensor<3x1xi1>) -> tensor<2x3x64xf32>
  ark.return %0, %1 : tensor<2x3x64xf32>, tensor<2x3x64xf32>
}

// The log-sum-exp of a split attention is merged from the maxima and sums of the partitions. One with other operands
// stays whole.
// CHECK-LABEL: ark.program @logSumExp
ark.program @logSumExp(
    %q: tensor<32x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<32x1x64xbf16> {ark.name = "y0"}, tensor<32x1x1xf32> {ark.name = "y1"},
        tensor<32x1x1xf32> {ark.name = "y2"}) {
  // CHECK: %[[PARTS:.+]] = ark.partial_attention {{.+}} -> tensor<32x1x16x66xf32>
  // CHECK: ark.combine_attention %[[PARTS]]
  // CHECK: %[[SUM:.+]] = ark.slice %[[PARTS]] starts = [0, 0, 0, 65] stops = [32, 1, 16, 66]
  // CHECK: %[[LOG:.+]] = ark.log %[[SUM]]
  // CHECK: %[[MAX:.+]] = ark.slice %[[PARTS]] starts = [0, 0, 0, 64] stops = [32, 1, 16, 65]
  // CHECK: %[[EACH:.+]] = ark.add %[[MAX]], %[[LOG]]
  // CHECK: %[[LARGEST:.+]] = ark.reduce_max %[[EACH]] axes = [2]
  // CHECK: %[[SHIFT:.+]] = ark.maximum %[[LARGEST]]
  // CHECK: %[[LESS:.+]] = ark.sub %[[EACH]], %[[SHIFT]]
  // CHECK: %[[SHARES:.+]] = ark.exp %[[LESS]]
  // CHECK: %[[TOTAL:.+]] = ark.reduce_sum %[[SHARES]] axes = [2]
  // CHECK: ark.where
  // CHECK: ark.reshape {{.+}} -> tensor<32x1x1xf32>
  // CHECK: ark.attention_log_sum_exp {{.+}} scale = 2.0
  // CHECK-NOT: ark.attention
  // CHECK: ark.return
  %0 = ark.attention %q, %k, %k scale = 1.0
    : (tensor<32x1x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<32x1x64xbf16>
  %1 = ark.attention_log_sum_exp %q, %k, %k scale = 1.0
    : (tensor<32x1x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<32x1x1xf32>
  %2 = ark.attention_log_sum_exp %q, %k, %k scale = 2.0
    : (tensor<32x1x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<32x1x1xf32>
  ark.return %0, %1, %2 : tensor<32x1x64xbf16>, tensor<32x1x1xf32>, tensor<32x1x1xf32>
}

// The pass does not split 1009 keys (a prime), 128 keys (too few), 64 queries (too many), or a key head for every SM.
// CHECK-LABEL: ark.program @notSplit
// CHECK-NOT: ark.partial_attention
// CHECK: ark.return
ark.program @notSplit(
    %q: tensor<32x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %prime: tensor<8x1009x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "prime"},
    %short: tensor<8x128x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "short"},
    %many: tensor<8x64x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "many"},
    %long: tensor<8x4096x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "long"},
    %heads: tensor<128x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "heads"},
    %full: tensor<128x4096x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "full"})
    -> (tensor<32x1x64xbf16> {ark.name = "y0"}, tensor<32x1x64xbf16> {ark.name = "y1"},
        tensor<8x64x64xbf16> {ark.name = "y2"}, tensor<128x1x64xbf16> {ark.name = "y3"},
        tensor<32x1x64xbf16> {ark.name = "y4"}) {
  %0 = ark.attention %q, %prime, %prime scale = 1.0
    : (tensor<32x1x64xbf16>, tensor<8x1009x64xbf16>, tensor<8x1009x64xbf16>) -> tensor<32x1x64xbf16>
  %1 = ark.attention %q, %short, %short scale = 1.0
    : (tensor<32x1x64xbf16>, tensor<8x128x64xbf16>, tensor<8x128x64xbf16>) -> tensor<32x1x64xbf16>
  %2 = ark.attention %many, %long, %long scale = 1.0
    : (tensor<8x64x64xbf16>, tensor<8x4096x64xbf16>, tensor<8x4096x64xbf16>) -> tensor<8x64x64xbf16>
  %3 = ark.attention %heads, %full, %full scale = 1.0
    : (tensor<128x1x64xbf16>, tensor<128x4096x64xbf16>, tensor<128x4096x64xbf16>) -> tensor<128x1x64xbf16>
  // The user has set the tile of this attention.
  %4 = ark.attention %q, %long, %long scale = 1.0 {ark.plan = {tile = [4, 1, 64]}}
    : (tensor<32x1x64xbf16>, tensor<8x4096x64xbf16>, tensor<8x4096x64xbf16>) -> tensor<32x1x64xbf16>
  ark.return %0, %1, %2, %3, %4 : tensor<32x1x64xbf16>, tensor<32x1x64xbf16>, tensor<8x64x64xbf16>, tensor<128x1x64xbf16>, tensor<32x1x64xbf16>
}
}

// -----

// Each of the two workers computes one key head; partitions would add work and no parallelism.
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 8, shared_memory = 262144, bandwidth = 20, flops = 160, handoff = 200, barrier = 400, overhead = 50>} {
// CHECK-LABEL: ark.program @fewWorkers
// CHECK-NOT: ark.partial_attention
// CHECK: ark.return
ark.program @fewWorkers(
    %q: tensor<4x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x4096x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<4x1x64xf32> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %k scale = 1.0
    : (tensor<4x1x64xf32>, tensor<2x4096x64xf32>, tensor<2x4096x64xf32>) -> tensor<4x1x64xf32>
  ark.return %0 : tensor<4x1x64xf32>
}
}

// -----

// Without a target the pass has no costs.
// CHECK-LABEL: ark.program @noTarget
// CHECK: ark.attention
ark.program @noTarget(
    %q: tensor<4x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x4096x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<4x1x64xf32> {ark.name = "y"}) {
  %0 = ark.attention %q, %k, %k scale = 1.0
    : (tensor<4x1x64xf32>, tensor<2x4096x64xf32>, tensor<2x4096x64xf32>) -> tensor<4x1x64xf32>
  ark.return %0 : tensor<4x1x64xf32>
}
