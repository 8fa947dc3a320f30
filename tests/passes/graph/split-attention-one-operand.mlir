// RUN: ark-opt %s --ark-split-attention='partitions=2' | FileCheck %s

// The log-sum-exp reads one value as query, key and value, and is replaced once.
// CHECK-LABEL: ark.program @oneOperand
// CHECK: %[[PARTS:.+]] = ark.partial_attention
// CHECK: ark.combine_attention %[[PARTS]]
// CHECK: ark.where
// CHECK-NOT: ark.attention_log_sum_exp
// CHECK: ark.return
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16, shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
ark.program @oneOperand(
    %x: tensor<1x16x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x16x64xf32> {ark.name = "y"}, tensor<1x16x1xf32> {ark.name = "lse"}) {
  %0 = ark.attention %x, %x, %x scale = 1.0
    : (tensor<1x16x64xf32>, tensor<1x16x64xf32>, tensor<1x16x64xf32>) -> tensor<1x16x64xf32>
  %1 = ark.attention_log_sum_exp %x, %x, %x scale = 1.0
    : (tensor<1x16x64xf32>, tensor<1x16x64xf32>, tensor<1x16x64xf32>) -> tensor<1x16x1xf32>
  ark.return %0, %1 : tensor<1x16x64xf32>, tensor<1x16x1xf32>
}
}
