// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=tiling --cse | FileCheck %s

// An attention and the log-sum-exps of its scores are one task, and one loop over the keys, although the vCTAs of both
// tasks would fit into half of the SMs.
// CHECK-LABEL: ark.program @equalOperands
// CHECK: ark.task "attention+attention_log_sum_exp" grid [2, 16]
// CHECK: ark.online_attention
// CHECK-NOT: ark.online_attention
// CHECK-NOT: ark.task
ark.program @equalOperands(
    %q: tensor<2x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<2x1024x64xbf16> {ark.name = "y"}, tensor<2x1024x1xf32> {ark.name = "lse"}) {
  %0 = ark.attention %q, %k, %k scale = 1.25e-1 {causal} : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x64xbf16>
  %1 = ark.attention_log_sum_exp %q, %k, %k scale = 1.25e-1 {causal} : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x1xf32>
  ark.return %0, %1 : tensor<2x1024x64xbf16>, tensor<2x1024x1xf32>
}

// -----

// With other keys, the tasks are separate and run on different SMs.
// CHECK-LABEL: ark.program @otherKeys
// CHECK: ark.task "attention" grid [2, 16]
// CHECK: ark.task "attention_log_sum_exp" grid [2, 16]
ark.program @otherKeys(
    %q: tensor<2x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %l: tensor<2x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "l"})
    -> (tensor<2x1024x64xbf16> {ark.name = "y"}, tensor<2x1024x1xf32> {ark.name = "lse"}) {
  %0 = ark.attention %q, %k, %k scale = 1.25e-1 {causal} : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x64xbf16>
  %1 = ark.attention_log_sum_exp %q, %l, %l scale = 1.25e-1 {causal} : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x1xf32>
  ark.return %0, %1 : tensor<2x1024x64xbf16>, tensor<2x1024x1xf32>
}

// -----

// With another scale, the operands are equal, and the attentions are not.
// CHECK-LABEL: ark.program @otherScale
// CHECK: ark.task "attention" grid [2, 16]
// CHECK: ark.task "attention_log_sum_exp" grid [2, 16]
ark.program @otherScale(
    %q: tensor<2x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<2x1024x64xbf16> {ark.name = "y"}, tensor<2x1024x1xf32> {ark.name = "lse"}) {
  %0 = ark.attention %q, %k, %k scale = 1.25e-1 : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x64xbf16>
  %1 = ark.attention_log_sum_exp %q, %k, %k scale = 1.0 : (tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>, tensor<2x1024x64xbf16>) -> tensor<2x1024x1xf32>
  ark.return %0, %1 : tensor<2x1024x64xbf16>, tensor<2x1024x1xf32>
}
