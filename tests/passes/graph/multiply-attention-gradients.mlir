// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-multiply-attention-gradients | FileCheck %s --check-prefixes=CHECK,UNITS
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-multiply-attention-gradients | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-multiply-attention-gradients | FileCheck %s --check-prefix=AMD
// RUN: ark-opt %s --ark-assign-target=target=cpu:2 --ark-multiply-attention-gradients | FileCheck %s --check-prefixes=CHECK,BLOCKS
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-multiply-attention-gradients=most-scores=100 | FileCheck %s --check-prefixes=CHECK,BLOCKS

#input = #ark.kind<input>

// Both gradients share the weights and their shares. Slices of the gradients of keys and values become parts.
// CHECK-LABEL: ark.program @both
// BLOCKS: ark.attention_query_gradient
// BLOCKS: ark.attention_key_value_gradient
// NARROW: ark.attention_query_gradient
// NARROW: ark.attention_key_value_gradient
// UNITS-SAME: (%[[Q:.+]]: tensor<2x3x4x8xf32> {{.*}}, %[[K:.+]]: tensor<2x5x8xf32> {{.*}}, %[[V:.+]]: tensor<2x5x8xf32> {{.*}}, %[[G:.+]]: tensor<2x3x4x8xf32> {{.*}}, %[[S:.+]]: tensor<2x3x4xf32> {{.*}}, %[[M:.+]]: tensor<2x3x4xf32>
// UNITS: %[[KEYS:.+]] = ark.reshape %[[K]] shape = [2, 1, 5, 8]
// UNITS: %[[SCALE:.+]] = ark.constant dense<5.000000e-01> : tensor<f32>
// UNITS: %[[DOT:.+]] = ark.matmul %[[Q]], %[[KEYS]] {transpose_other}
// UNITS: %[[SCORES:.+]] = ark.mul %[[DOT]], %[[SCALE]]
// UNITS: %[[COLUMNS:.+]] = ark.constant dense<[0, 1, 2, 3, 4]> : tensor<5xi32>
// UNITS: %[[LAST:.+]] = ark.constant dense<{{\[\[}}1], [2], [3], [4]]> : tensor<4x1xi32>
// UNITS: %[[SEEN:.+]] = ark.compare le %[[COLUMNS]], %[[LAST]]
// UNITS: %[[SHOWN:.+]] = ark.where %[[SEEN]], %[[SCORES]],
// UNITS: %[[TOTAL:.+]] = ark.reshape %[[S]] shape = [2, 3, 4, 1]
// UNITS: %[[DIFFERENCE:.+]] = ark.sub %[[SHOWN]], %[[TOTAL]]
// UNITS: %[[EXP:.+]] = ark.exp %[[DIFFERENCE]]
// UNITS: %[[WEIGHTS:.+]] = ark.where %[[SEEN]], %[[EXP]],
// UNITS: %[[VALUES:.+]] = ark.reshape %[[V]] shape = [2, 1, 5, 8]
// UNITS: %[[SLOPES:.+]] = ark.matmul %[[G]], %[[VALUES]] {transpose_other}
// UNITS: %[[MEAN:.+]] = ark.reshape %[[M]] shape = [2, 3, 4, 1]
// UNITS: %[[CENTRED:.+]] = ark.sub %[[SLOPES]], %[[MEAN]]
// UNITS: %[[SHARES:.+]] = ark.mul %[[WEIGHTS]], %[[CENTRED]]
// UNITS: %[[SCALED:.+]] = ark.mul %[[SHARES]], %[[SCALE]]
// UNITS: %[[DQ:.+]] = ark.matmul %[[SCALED]], %[[KEYS]] :
// UNITS-NOT: ark.exp
// UNITS: %[[HEADS:.+]] = ark.matmul %[[SCALED]], %[[Q]] {transpose_input}
// UNITS: %[[DK:.+]] = ark.reduce_sum %[[HEADS]] axes = [1] keepdims = false
// UNITS: %[[PARTS:.+]] = ark.matmul %[[WEIGHTS]], %[[G]] {transpose_input}
// UNITS: %[[DV:.+]] = ark.reduce_sum %[[PARTS]] axes = [1] keepdims = false
// UNITS-NOT: ark.concat
// UNITS: ark.return %[[DQ]], %[[DK]], %[[DV]]
ark.program @both(
    %q: tensor<2x3x4x8xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x5x8xf32> {ark.kind = #input, ark.name = "k"},
    %v: tensor<2x5x8xf32> {ark.kind = #input, ark.name = "v"}, %g: tensor<2x3x4x8xf32> {ark.kind = #input, ark.name = "g"},
    %s: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "s"}, %m: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "m"})
    -> (tensor<2x3x4x8xf32> {ark.name = "x"}, tensor<2x5x8xf32> {ark.name = "y"}, tensor<2x5x8xf32> {ark.name = "z"}) {
  %0 = ark.attention_query_gradient %q, %k, %v, %g, %s, %m scale = 0.5 {causal} : (tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x8xf32>
  %1 = ark.attention_key_value_gradient %q, %k, %v, %g, %s, %m scale = 0.5 {causal} : (tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x5x16xf32>
  %2 = ark.slice %1 starts = [0, 0, 0] stops = [2, 5, 8] steps = [1, 1, 1] : (tensor<2x5x16xf32>) -> tensor<2x5x8xf32>
  %3 = ark.slice %1 starts = [0, 0, 8] stops = [2, 5, 16] steps = [1, 1, 1] : (tensor<2x5x16xf32>) -> tensor<2x5x8xf32>
  ark.return %0, %2, %3 : tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>
}

// Factors of 16 bits are rounded, and other readers than slices get joined gradients. Rows beyond a run-time length
// are zero.
// CHECK-LABEL: ark.program @keysOfSixteenBits
// BLOCKS: ark.attention_key_value_gradient
// NARROW: %[[LENGTH:[a-z0-9]+]]: tensor<i64>
// NARROW: %[[ROWS:.+]] = ark.constant dense<{{\[\[}}0], [1], [2], [3], [4]]> : tensor<5x1xi64>
// NARROW: %[[VALID:.+]] = ark.compare lt %[[ROWS]], %[[LENGTH]]
// NARROW: ark.where %[[VALID]],
// NARROW: ark.matmul {{.*}} : (tensor<2x3x4x8xbf16>, tensor<2x1x5x8xbf16>) -> tensor<2x3x4x5xf32>
// NARROW: ark.compare lt %{{.+}}, %[[LENGTH]] : (tensor<5xi64>, tensor<i64>) -> tensor<5xi1>
// NARROW: ark.logical_and
// NARROW: %[[WEIGHTS:.+]] = ark.cast %{{.+}} to bf16
// NARROW: %[[WIDE:.+]] = ark.cast %[[WEIGHTS]] to f32
// NARROW: ark.mul %[[WIDE]],
// NARROW: %[[SCALED:.+]] = ark.cast %{{.+}} to bf16
// NARROW: ark.matmul %[[SCALED]], %{{.+}} {transpose_input} : {{.*}} -> tensor<2x3x5x8xbf16>
// NARROW: ark.concat {{.*}} axis = 2
// UNITS: ark.concat
ark.program @keysOfSixteenBits(
    %q: tensor<2x3x4x8xbf16> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x5x8xbf16> {ark.kind = #input, ark.name = "k"},
    %s: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "s"}, %m: tensor<4x5xi1> {ark.kind = #input, ark.name = "m"},
    %n: tensor<i64> {ark.kind = #ark.kind<scalar>, ark.name = "n"}) -> (tensor<2x5x16xbf16> {ark.name = "y"}) {
  %0 = ark.attention_key_value_gradient %q, %k, %k, %q, %s, %s mask %m kv_length %n scale = 0.5 : (tensor<2x3x4x8xbf16>, tensor<2x5x8xbf16>, tensor<2x5x8xbf16>, tensor<2x3x4x8xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x5xi1>, tensor<i64>) -> tensor<2x5x16xbf16>
  ark.return %0 : tensor<2x5x16xbf16>
}

// The user's plan has a tile for the op.
// CHECK-LABEL: ark.program @planned
// CHECK: ark.attention_query_gradient
ark.program @planned(
    %q: tensor<2x3x4x8xf32> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x5x8xf32> {ark.kind = #input, ark.name = "k"},
    %s: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "s"}) -> (tensor<2x3x4x8xf32> {ark.name = "x"}) {
  %0 = ark.attention_query_gradient %q, %k, %k, %q, %s, %s scale = 0.5 {ark.plan = {tile = array<i64: 2, 8>}} : (tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x8xf32>
  ark.return %0 : tensor<2x3x4x8xf32>
}

// Warps of NVIDIA GPUs multiply 16-bit types in blocks. On AMD GPUs, accumulators lie in other threads than operands.
// CHECK-LABEL: ark.program @blocksOnMatrixUnits
// CHECK: ark.attention_query_gradient
// AMD-LABEL: ark.program @blocksOnMatrixUnits
// AMD-NOT: ark.attention_query_gradient
// AMD: ark.matmul
ark.program @blocksOnMatrixUnits(
    %q: tensor<2x3x4x32xbf16> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x5x32xbf16> {ark.kind = #input, ark.name = "k"},
    %s: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "s"}) -> (tensor<2x3x4x32xbf16> {ark.name = "x"}) {
  %0 = ark.attention_query_gradient %q, %k, %k, %q, %s, %s scale = 0.5 : (tensor<2x3x4x32xbf16>, tensor<2x5x32xbf16>, tensor<2x5x32xbf16>, tensor<2x3x4x32xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x32xbf16>
  ark.return %0 : tensor<2x3x4x32xbf16>
}

// A thread does not hold the sums of heads of more than 128 elements, or of a number that is not a multiple of 16.
// CHECK-LABEL: ark.program @otherHeads
// NARROW-NOT: ark.attention_query_gradient
// UNITS-NOT: ark.attention_query_gradient
// BLOCKS-COUNT-2: ark.attention_query_gradient
// CHECK: ark.return
ark.program @otherHeads(
    %q: tensor<2x3x4x144xbf16> {ark.kind = #input, ark.name = "q"}, %k: tensor<2x5x144xbf16> {ark.kind = #input, ark.name = "k"},
    %r: tensor<2x3x4x24xbf16> {ark.kind = #input, ark.name = "r"}, %l: tensor<2x5x24xbf16> {ark.kind = #input, ark.name = "l"},
    %s: tensor<2x3x4xf32> {ark.kind = #input, ark.name = "s"})
    -> (tensor<2x3x4x144xbf16> {ark.name = "x"}, tensor<2x3x4x24xbf16> {ark.name = "y"}) {
  %0 = ark.attention_query_gradient %q, %k, %k, %q, %s, %s scale = 0.5 : (tensor<2x3x4x144xbf16>, tensor<2x5x144xbf16>, tensor<2x5x144xbf16>, tensor<2x3x4x144xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x144xbf16>
  %1 = ark.attention_query_gradient %r, %l, %l, %r, %s, %s scale = 0.5 : (tensor<2x3x4x24xbf16>, tensor<2x5x24xbf16>, tensor<2x5x24xbf16>, tensor<2x3x4x24xbf16>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x24xbf16>
  ark.return %0, %1 : tensor<2x3x4x144xbf16>, tensor<2x3x4x24xbf16>
}
