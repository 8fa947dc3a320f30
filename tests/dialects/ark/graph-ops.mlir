// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: ark.program @viewsReorderElements
ark.program @viewsReorderElements(
    %x: tensor<6x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1x4x3xf32> {ark.name = "y"}) {
  // CHECK: ark.reshape %{{.+}} shape = [2, 3, 4] : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  %0 = ark.reshape %x shape = [2, 3, 4] : (tensor<6x4xf32>) -> tensor<2x3x4xf32>
  // CHECK: ark.transpose %{{.+}} perm = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  %1 = ark.transpose %0 perm = [0, 2, 1] : (tensor<2x3x4xf32>) -> tensor<2x4x3xf32>
  // CHECK: ark.slice %{{.+}} starts = [0, 0, 0] stops = [2, 4, 3] steps = [2, 1, 1] : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
  %2 = ark.slice %1 starts = [0, 0, 0] stops = [2, 4, 3] steps = [2, 1, 1]
    : (tensor<2x4x3xf32>) -> tensor<1x4x3xf32>
  // CHECK: ark.identity %{{.+}} after %{{.+}}
  %3 = ark.identity %2 after %x : (tensor<1x4x3xf32>, tensor<6x4xf32>) -> tensor<1x4x3xf32>
  ark.return %3 : tensor<1x4x3xf32>
}

// CHECK-LABEL: ark.program @elementwiseOpsBroadcast
ark.program @elementwiseOpsBroadcast(
    %x: tensor<4x1xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "y"})
    -> (tensor<4x8xf32> {ark.name = "z"}) {
  // CHECK: ark.add %{{.+}}, %{{.+}} : (tensor<4x1xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  %0 = ark.add %x, %y : (tensor<4x1xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
  // CHECK: ark.gelu %{{.+}} approximate = none
  %1 = ark.gelu %0 approximate = none : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  // CHECK: ark.compare lt %{{.+}}, %{{.+}} : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xi1>
  %2 = ark.compare lt %1, %y : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xi1>
  // CHECK: ark.where
  %3 = ark.where %2, %1, %x : (tensor<4x8xi1>, tensor<4x8xbf16>, tensor<4x1xbf16>) -> tensor<4x8xbf16>
  // CHECK: ark.cast %{{.+}} to f32
  %4 = ark.cast %3 to f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  ark.return %4 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @anchorsReduceTheirOperands
ark.program @anchorsReduceTheirOperands(
    %x: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<16x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %g: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "g"})
    -> (tensor<2x4xi32> {ark.name = "i"}, tensor<2x1x1xf32> {ark.name = "s"}) {
  // CHECK: ark.layernorm %{{.+}} weight %{{.+}} bias %{{.+}} eps = 1.000000e-05
  %0 = ark.layernorm %x weight %g bias %g eps = 1.0e-5
    : (tensor<2x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<2x4x8xf32>
  // CHECK: ark.rmsnorm %{{.+}} eps = 9.9999999999999995E-7
  %1 = ark.rmsnorm %0 eps = 1.0e-6 : (tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  // CHECK: ark.matmul %{{.+}}, %{{.+}} {transpose_other} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  %2 = ark.matmul %1, %w {transpose_other} : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  // CHECK: ark.softmax %{{.+}} axis = 2
  %3 = ark.softmax %2 axis = 2 : (tensor<2x4x16xf32>) -> tensor<2x4x16xf32>
  // CHECK: ark.argmax %{{.+}} axis = 2 : (tensor<2x4x16xf32>) -> tensor<2x4xi32>
  %4 = ark.argmax %3 axis = 2 : (tensor<2x4x16xf32>) -> tensor<2x4xi32>
  // CHECK: ark.reduce_sum %{{.+}} axes = [1, 2] keepdims = true : (tensor<2x4x16xf32>) -> tensor<2x1x1xf32>
  %5 = ark.reduce_sum %3 axes = [1, 2] keepdims = true : (tensor<2x4x16xf32>) -> tensor<2x1x1xf32>
  ark.return %4, %5 : tensor<2x4xi32>, tensor<2x1x1xf32>
}

// The result of floats may be the f32 accumulator.
// CHECK-LABEL: ark.program @accumulatorOfAMatmul
ark.program @accumulatorOfAMatmul(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x16xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x16xf32> {ark.name = "y"}) {
  // CHECK: ark.matmul %{{.+}}, %{{.+}} : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  %0 = ark.matmul %x, %w : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xf32>
  ark.return %0 : tensor<4x16xf32>
}

// CHECK-LABEL: ark.program @sampling
ark.program @sampling(
    %x: tensor<2x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<2x16xi64> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %step: tensor<i64> {ark.kind = #ark.kind<scalar>, ark.name = "step"},
    %seed: tensor<i64> {ark.kind = #ark.kind<scalar>, ark.name = "seed"},
    %k: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "k"},
    %p: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<2x16xui32> {ark.name = "bits"}, tensor<2x1xf32> {ark.name = "least"}) {
  // CHECK: ark.philox %{{.+}} counter = %{{.+}} seed = %{{.+}} : (tensor<2x16xi64>, tensor<i64>, tensor<i64>) -> tensor<2x16xui32>
  %0 = ark.philox %i counter = %step seed = %seed : (tensor<2x16xi64>, tensor<i64>, tensor<i64>) -> tensor<2x16xui32>
  // CHECK: ark.top_threshold %{{.+}} k = %{{.+}} p = %{{.+}} : (tensor<2x16xf32>, tensor<i32>, tensor<f32>) -> tensor<2x1xf32>
  %1 = ark.top_threshold %x k = %k p = %p : (tensor<2x16xf32>, tensor<i32>, tensor<f32>) -> tensor<2x1xf32>
  ark.return %0, %1 : tensor<2x16xui32>, tensor<2x1xf32>
}

// CHECK-LABEL: ark.program @attentionReadsAStateUpToALength
ark.program @attentionReadsAStateUpToALength(
    %q: tensor<4x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %v: tensor<2x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %cache: tensor<2x128x64xf32> {ark.kind = #ark.kind<state>, ark.name = "cache", ark.init = 0.0 : f64},
    %pos: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "pos", ark.max = 127 : i64})
    -> (tensor<4x1x64xf32> {ark.name = "y"}) {
  // CHECK: ark.update %{{.+}} into %{{.+}} [0, %{{.+}}, 0] : (tensor<2x128x64xf32>, tensor<2x1x64xf32>, tensor<i32>) -> tensor<2x128x64xf32>
  %0 = ark.update %v into %cache [0, %pos, 0]
    : (tensor<2x128x64xf32>, tensor<2x1x64xf32>, tensor<i32>) -> tensor<2x128x64xf32>
  // CHECK: ark.attention %{{.+}}, %{{.+}}, %{{.+}} kv_length %{{.+}} scale = 1.250000e-01 {causal}
  %1 = ark.attention %q, %0, %0 kv_length %pos scale = 1.25e-1 {causal}
    : (tensor<4x1x64xf32>, tensor<2x128x64xf32>, tensor<2x128x64xf32>, tensor<i32>) -> tensor<4x1x64xf32>
  ark.return %1 : tensor<4x1x64xf32>
}

// The value may have more sequences than the state has rows.
// CHECK-LABEL: ark.program @eachSequenceHasARow
ark.program @eachSequenceHasARow(
    %v: tensor<3x2x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %cache: tensor<2x2x16x64xf32> {ark.kind = #ark.kind<state>, ark.name = "cache", ark.init = 0.0 : f64},
    %page: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "page"},
    %row: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "row"})
    -> (tensor<2x2x16x64xf32> {ark.name = "y"}) {
  // CHECK: ark.update %{{.+}} into %{{.+}} [%{{.+}}, 0, %{{.+}}, 0] : (tensor<2x2x16x64xf32>, tensor<3x2x1x64xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<2x2x16x64xf32>
  %0 = ark.update %v into %cache [%page, 0, %row, 0]
    : (tensor<2x2x16x64xf32>, tensor<3x2x1x64xf32>, tensor<3xi32>, tensor<3xi32>) -> tensor<2x2x16x64xf32>
  ark.return %0 : tensor<2x2x16x64xf32>
}

// CHECK-LABEL: ark.program @eachSequenceHasAPosition
ark.program @eachSequenceHasAPosition(
    %q: tensor<3x4x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %v: tensor<3x2x1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %cache: tensor<3x2x128x64xf32> {ark.kind = #ark.kind<state>, ark.name = "cache", ark.init = 0.0 : f64},
    %pos: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "pos"})
    -> (tensor<3x4x1x64xf32> {ark.name = "y"}) {
  // CHECK: ark.update %{{.+}} into %{{.+}} [0, 0, %{{.+}}, 0] : (tensor<3x2x128x64xf32>, tensor<3x2x1x64xf32>, tensor<3xi32>) -> tensor<3x2x128x64xf32>
  %0 = ark.update %v into %cache [0, 0, %pos, 0]
    : (tensor<3x2x128x64xf32>, tensor<3x2x1x64xf32>, tensor<3xi32>) -> tensor<3x2x128x64xf32>
  // CHECK: ark.attention %{{.+}}, %{{.+}}, %{{.+}} kv_length %{{.+}} scale = 1.250000e-01 {causal} : ({{.+}}, tensor<3xi32>) -> tensor<3x4x1x64xf32>
  %1 = ark.attention %q, %0, %0 kv_length %pos scale = 1.25e-1 {causal}
    : (tensor<3x4x1x64xf32>, tensor<3x2x128x64xf32>, tensor<3x2x128x64xf32>, tensor<3xi32>) -> tensor<3x4x1x64xf32>
  ark.return %1 : tensor<3x4x1x64xf32>
}

// CHECK-LABEL: ark.program @partitionsOfAnAttentionAreCombined
ark.program @partitionsOfAnAttentionAreCombined(
    %q: tensor<4x1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x8x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x32x8x48xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %m: tensor<1x32x8xi1> {ark.kind = #ark.kind<input>, ark.name = "m"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<4x1x48xf32> {ark.name = "y"}) {
  // CHECK: ark.partial_attention %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}} kv_length %{{.+}} scale = 1.250000e-01 {causal}
  // CHECK-SAME: -> tensor<4x1x8x50xf32>
  %0 = ark.partial_attention %q, %k, %v mask %m kv_length %n scale = 1.25e-1 {causal}
    : (tensor<4x1x64xbf16>, tensor<2x32x8x64xbf16>, tensor<2x32x8x48xbf16>, tensor<1x32x8xi1>, tensor<i32>) -> tensor<4x1x8x50xf32>
  // CHECK: ark.combine_attention %{{.+}} : (tensor<4x1x8x50xf32>) -> tensor<4x1x48xf32>
  %1 = ark.combine_attention %0 : (tensor<4x1x8x50xf32>) -> tensor<4x1x48xf32>
  ark.return %1 : tensor<4x1x48xf32>
}

// CHECK-LABEL: ark.program @logSumExpOfAnAttention
ark.program @logSumExpOfAnAttention(
    %q: tensor<4x3x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x32x48xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %m: tensor<1x32xi1> {ark.kind = #ark.kind<input>, ark.name = "m"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<4x3x1xf32> {ark.name = "y"}) {
  // CHECK: ark.attention_log_sum_exp %{{.+}}, %{{.+}}, %{{.+}} mask %{{.+}} kv_length %{{.+}} scale = 1.250000e-01 {causal}
  // CHECK-SAME: -> tensor<4x3x1xf32>
  %0 = ark.attention_log_sum_exp %q, %k, %v mask %m kv_length %n scale = 1.25e-1 {causal}
    : (tensor<4x3x64xbf16>, tensor<2x32x64xbf16>, tensor<2x32x48xbf16>, tensor<1x32xi1>, tensor<i32>) -> tensor<4x3x1xf32>
  ark.return %0 : tensor<4x3x1xf32>
}

// CHECK-LABEL: ark.program @argmaxInPartitions
ark.program @argmaxInPartitions(
    %x: tensor<2x4x16xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2xi32> {ark.name = "y"}) {
  // CHECK: ark.partial_argmax %{{.+}} axis = 2 : (tensor<2x4x16xbf16>) -> tensor<2x4xi64>
  %0 = ark.partial_argmax %x axis = 2 : (tensor<2x4x16xbf16>) -> tensor<2x4xi64>
  // CHECK: ark.combine_argmax %{{.+}} axis = 1 : (tensor<2x4xi64>) -> tensor<2xi32>
  %1 = ark.combine_argmax %0 axis = 1 : (tensor<2x4xi64>) -> tensor<2xi32>
  ark.return %1 : tensor<2xi32>
}

// CHECK-LABEL: ark.program @collectivesKeepTheirWorld
ark.program @collectivesKeepTheirWorld(
    %x: tensor<8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x4xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 4 : i64} {
  // CHECK: ark.reduce_scatter sum %{{.+}} axis = 0 world_size = 4 : (tensor<8x4xf32>) -> tensor<2x4xf32>
  %0 = ark.reduce_scatter sum %x axis = 0 world_size = 4 : (tensor<8x4xf32>) -> tensor<2x4xf32>
  // CHECK: ark.all_gather %{{.+}} axis = 0 world_size = 4 : (tensor<2x4xf32>) -> tensor<8x4xf32>
  %1 = ark.all_gather %0 axis = 0 world_size = 4 : (tensor<2x4xf32>) -> tensor<8x4xf32>
  // CHECK: ark.all_reduce max
  %2 = ark.all_reduce max %1 world_size = 4 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: ark.all_to_all
  %3 = ark.all_to_all %2 axis = 0 world_size = 4 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: ark.broadcast %{{.+}} root = 3
  %4 = ark.broadcast %3 root = 3 world_size = 4 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: ark.send %{{.+}} to 1 tag = 7
  %5 = ark.send %4 to 1 tag = 7 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // CHECK: ark.recv from 1 tag = 8 : tensor<8x4xf32>
  %6 = ark.recv from 1 tag = 8 : tensor<8x4xf32>
  %7 = ark.add %5, %6 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  ark.return %7 : tensor<8x4xf32>
}

// CHECK-LABEL: ark.program @bitcastsKeepBytes
ark.program @bitcastsKeepBytes(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %b: tensor<4xi1> {ark.kind = #ark.kind<input>, ark.name = "b"},
    %s: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "s"})
    -> (tensor<4x8xui32> {ark.name = "y"}) {
  // CHECK: ark.bitcast %{{.+}} to ui8 : (tensor<4x8xf32>) -> tensor<4x32xui8>
  %0 = ark.bitcast %x to ui8 : (tensor<4x8xf32>) -> tensor<4x32xui8>
  // CHECK: ark.bitcast %{{.+}} to i64 : (tensor<4x32xui8>) -> tensor<4x4xi64>
  %1 = ark.bitcast %0 to i64 : (tensor<4x32xui8>) -> tensor<4x4xi64>
  // CHECK: ark.bitcast %{{.+}} to f8E5M2 : (tensor<4xi1>) -> tensor<4xf8E5M2>
  %2 = ark.bitcast %b to f8E5M2 : (tensor<4xi1>) -> tensor<4xf8E5M2>
  // CHECK: ark.bitcast %{{.+}} to f32 : (tensor<i32>) -> tensor<f32>
  %3 = ark.bitcast %s to f32 : (tensor<i32>) -> tensor<f32>
  // CHECK: ark.noop %{{.+}} : tensor<f32>
  ark.noop %3 : tensor<f32>
  // CHECK: ark.bitcast %{{.+}} to ui32 {ark.name = "words"}
  %4 = ark.bitcast %x to ui32 {ark.name = "words"} : (tensor<4x8xf32>) -> tensor<4x8xui32>
  ark.return %4 : tensor<4x8xui32>
}

// CHECK-LABEL: ark.program @segments
ark.program @segments(
    %x: tensor<2x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<2x3xf32> {ark.name = "y"}, tensor<2x3xbf16> {ark.name = "z"}) {
  // CHECK: ark.segment_sum %{{.+}}, %{{.+}} axis = 1 segments = 3 : (tensor<2x8xbf16>, tensor<8xi32>) -> tensor<2x3xf32>
  %0 = ark.segment_sum %x, %i axis = 1 segments = 3 : (tensor<2x8xbf16>, tensor<8xi32>) -> tensor<2x3xf32>
  // CHECK: ark.segment_max %{{.+}}, %{{.+}} axis = 1 segments = 3 : (tensor<2x8xbf16>, tensor<8xi32>) -> tensor<2x3xbf16>
  %1 = ark.segment_max %x, %i axis = 1 segments = 3 : (tensor<2x8xbf16>, tensor<8xi32>) -> tensor<2x3xbf16>
  ark.return %0, %1 : tensor<2x3xf32>, tensor<2x3xbf16>
}
