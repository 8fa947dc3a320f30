// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @reshape_c1(%x: tensor<6x4xf32>) {
  // expected-error @below {{cannot reshape [6, 4] to [5, 5] (reshape_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.reshape %x shape = [5, 5] : (tensor<6x4xf32>) -> tensor<5x5xf32>
  return
}

// -----

func.func @reshape_c1_negative(%x: tensor<6x4xf32>) {
  // expected-error @below {{cannot reshape [6, 4] to [-6, -4] (reshape_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.reshape %x shape = [-6, -4] : (tensor<6x4xf32>) -> tensor<6x4xf32>
  return
}

// -----

func.func @transpose_c1(%x: tensor<6x4xf32>) {
  // expected-error @below {{[0, 0] is not a permutation of the dimensions of shape [6, 4] (transpose_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.transpose %x perm = [0, 0] : (tensor<6x4xf32>) -> tensor<6x6xf32>
  return
}

// -----

func.func @slice_c1(%x: tensor<6x4xf32>) {
  // expected-error @below {{needs 2 starts, stops and steps (slice_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.slice %x starts = [0] stops = [2] steps = [1] : (tensor<6x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @slice_c2(%x: tensor<6x4xf32>) {
  // expected-error @below {{slice [0:7:1] does not fit dimension 0 of shape [6, 4] (slice_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.slice %x starts = [0, 0] stops = [7, 4] steps = [1, 1] : (tensor<6x4xf32>) -> tensor<7x4xf32>
  return
}

// -----

func.func @slice_c2_step(%x: tensor<6xf32>) {
  // expected-error @below {{slice [0:6:0] does not fit dimension 0 of shape [6] (slice_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.slice %x starts = [0] stops = [6] steps = [0] : (tensor<6xf32>) -> tensor<6xf32>
  return
}

// -----

func.func @broadcast_to_c1(%x: tensor<3xf32>) {
  // expected-error @below {{cannot broadcast [3] to [2, 4] (broadcast_to_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.broadcast_to %x shape = [2, 4] : (tensor<3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @concat_c1(%x: tensor<3xf32>, %y: tensor<3xf16>) {
  // expected-error @below {{cannot join 'tensor<3xf16>' to 'tensor<3xf32>' (concat_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.concat %x, %y axis = 0 : (tensor<3xf32>, tensor<3xf16>) -> tensor<6xf32>
  return
}

// -----

func.func @concat_c2(%x: tensor<3xf32>) {
  // expected-error @below {{axis 1 is not a dimension of shape [3] (concat_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.concat %x axis = 1 : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @concat_c3(%x: tensor<3x2xf32>, %y: tensor<3x4xf32>) {
  // expected-error @below {{shapes [3, 2] and [3, 4] differ in dimension 1 (concat_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.concat %x, %y axis = 0 : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<6x2xf32>
  return
}

// -----

func.func @binary_c1(%x: tensor<3xf32>, %y: tensor<3xbf16>) {
  // expected-error @below {{operands have different element types, 'f32' and 'bf16'; cast one of them (binary_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.add %x, %y : (tensor<3xf32>, tensor<3xbf16>) -> tensor<3xf32>
  return
}

// -----

func.func @binary_c2(%x: tensor<3xf32>, %y: tensor<4xf32>) {
  // expected-error @below {{shapes [3] and [4] do not broadcast (binary_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.mul %x, %y : (tensor<3xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @binary_c2_where(%c: tensor<2xi1>, %x: tensor<3xf32>) {
  // expected-error @below {{shapes [2] and [3] do not broadcast (binary_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.where %c, %x, %x : (tensor<2xi1>, tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @inferredTypeMustMatch(%x: tensor<3xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<3xf32>' are incompatible with return type(s) of operation 'tensor<4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.exp %x : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @floatsOnly(%x: tensor<3xi32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor (at most 32 dimensions) of f32, f16 or bf16 values, but got 'tensor<3xi32>'}}
  %0 = ark.exp %x : (tensor<3xi32>) -> tensor<3xi32>
  return
}

// -----

func.func @staticShapesOnly(%x: tensor<?xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor}}
  %0 = ark.exp %x : (tensor<?xf32>) -> tensor<?xf32>
  return
}

// -----

func.func @reduce_c1(%x: tensor<3x4xf32>) {
  // expected-error @below {{axis 2 is not a dimension of shape [3, 4] (reduce_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.reduce_sum %x axes = [2] keepdims = true : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @reduce_c1_twice(%x: tensor<3x4xf32>) {
  // expected-error @below {{axis 1 is named twice (reduce_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.reduce_max %x axes = [1, 1] keepdims = true : (tensor<3x4xf32>) -> tensor<3x1xf32>
  return
}

// -----

func.func @argmax_c1(%x: tensor<3x0xf32>) {
  // expected-error @below {{argmax of an empty dimension (argmax_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.argmax %x axis = 1 : (tensor<3x0xf32>) -> tensor<3xi32>
  return
}

// -----

func.func @partial_argmax_c1(%x: tensor<3x8xf32>) {
  // expected-error @below {{the dimension before `axis` holds the partitions, so axis 0 is invalid (partial_argmax_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_argmax %x axis = 0 : (tensor<3x8xf32>) -> tensor<8xi64>
  return
}

// -----

func.func @partial_argmax_c1_empty(%x: tensor<3x0xf32>) {
  // expected-error @below {{argmax of an empty dimension (partial_argmax_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_argmax %x axis = 1 : (tensor<3x0xf32>) -> tensor<3xi64>
  return
}

// -----

func.func @partial_argmax_c2(%x: tensor<3x8xi64>) {
  // expected-error @below {{elements of 'i64' have more than 32 bits (partial_argmax_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_argmax %x axis = 1 : (tensor<3x8xi64>) -> tensor<3xi64>
  return
}

// -----

func.func @partial_argmax_c3(%x: tensor<65536x32768xi8>) {
  // expected-error @below {{indices of 65536 partitions of 32768 elements do not fit i32 (partial_argmax_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_argmax %x axis = 1 : (tensor<65536x32768xi8>) -> tensor<65536xi64>
  return
}

// -----

func.func @combine_argmax_c1(%x: tensor<3x8xi64>) {
  // expected-error @below {{axis 2 is not a dimension of shape [3, 8] (combine_argmax_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.combine_argmax %x axis = 2 : (tensor<3x8xi64>) -> tensor<3xi32>
  return
}

// -----

func.func @combine_argmax_c1_empty(%x: tensor<3x0xi64>) {
  // expected-error @below {{argmax of an empty dimension (combine_argmax_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.combine_argmax %x axis = 1 : (tensor<3x0xi64>) -> tensor<3xi32>
  return
}

// -----

func.func @top_threshold_c1(%x: tensor<3x0xf32>, %k: tensor<i32>, %p: tensor<f32>) {
  // expected-error @below {{shape [3, 0] has no last dimension of positive extent (top_threshold_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.top_threshold %x k = %k p = %p : (tensor<3x0xf32>, tensor<i32>, tensor<f32>) -> tensor<3x1xf32>
  return
}

// -----

func.func @top_threshold_c1_rank(%x: tensor<f32>, %k: tensor<i32>, %p: tensor<f32>) {
  // expected-error @below {{shape [] has no last dimension of positive extent (top_threshold_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.top_threshold %x k = %k p = %p : (tensor<f32>, tensor<i32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @philoxDoesNotBroadcast(%i: tensor<4xi64>, %c: tensor<3xi64>, %s: tensor<i64>) {
  // expected-error @below {{shapes [4] and [3] do not broadcast (binary_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.philox %i counter = %c seed = %s : (tensor<4xi64>, tensor<3xi64>, tensor<i64>) -> tensor<4xui32>
  return
}

// -----

func.func @softmax_c1(%x: tensor<3xf32>) {
  // expected-error @below {{axis -1 is not a dimension of shape [3] (softmax_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.softmax %x axis = -1 : (tensor<3xf32>) -> tensor<3xf32>
  return
}

// -----

func.func @norm_c1(%x: tensor<f32>) {
  // expected-error @below {{needs a tensor of rank one or more (norm_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.rmsnorm %x eps = 1.0e-5 : (tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @norm_c2(%x: tensor<3x4xf32>, %w: tensor<3xf32>) {
  // expected-error @below {{weight or bias is 'tensor<3xf32>' where 'tensor<4xf32>' is needed (norm_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.layernorm %x weight %w eps = 1.0e-5 : (tensor<3x4xf32>, tensor<3xf32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @matmul_result_is_no_accumulator(%x: tensor<4x4xbf16>, %y: tensor<4x4xbf16>) {
  // expected-error @below {{inferred type(s) 'tensor<4x4xbf16>' are incompatible with return type(s) of operation 'tensor<4x4xf16>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x4xf16>
  return
}

// -----

func.func @matmul_integers_have_their_own_type(%x: tensor<4x4xi8>, %y: tensor<4x4xi8>) {
  // expected-error @below {{inferred type(s) 'tensor<4x4xi8>' are incompatible with return type(s) of operation 'tensor<4x4xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<4x4xi8>, tensor<4x4xi8>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_sums_of_i32(%x: tensor<4x4xui8>, %y: tensor<4x4xui8>) {
  // expected-error @below {{inferred type(s) 'tensor<4x4xui8>' are incompatible with return type(s) of operation 'tensor<4x4xi32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<4x4xui8>, tensor<4x4xui8>) -> tensor<4x4xi32>
  return
}

// -----

func.func @matmul_c1(%x: tensor<4xf32>, %y: tensor<4x4xf32>) {
  // expected-error @below {{needs operands of rank two or more, not [4] and [4, 4] (matmul_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @matmul_c1_wide_floats(%x: tensor<4x4xbf16>, %y: tensor<4x4xf32>) {
  // expected-error @below {{operands have different element types, 'bf16' and 'f32'; cast one of them (matmul_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<4x4xbf16>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_c1_integers(%x: tensor<4x4xi8>, %y: tensor<4x4xf8E4M3FN>) {
  // expected-error @below {{operands have different element types, 'i8' and 'f8E4M3FN'; cast one of them (matmul_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<4x4xi8>, tensor<4x4xf8E4M3FN>) -> tensor<4x4xf32>
  return
}

// -----

func.func @matmul_c2(%x: tensor<4x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error @below {{contracted extents differ, 3 and 4, in shapes [4, 3] and [4, 3] (matmul_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @matmul_c3(%x: tensor<2x4x3xf32>, %y: tensor<3x3x4xf32>) {
  // expected-error @below {{leading dimensions of [2, 4, 3] and [3, 3, 4] do not broadcast (matmul_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.matmul %x, %y : (tensor<2x4x3xf32>, tensor<3x3x4xf32>) -> tensor<2x4x4xf32>
  return
}

// -----

func.func @rope_c1(%x: tensor<4x7xf32>, %c: tensor<4x3xf32>) {
  // expected-error @below {{last extent of [4, 7] is not even (rope_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.rope %x, %c, %c : (tensor<4x7xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x7xf32>
  return
}

// -----

func.func @rope_c2(%x: tensor<4x8xf32>, %c: tensor<4x3xf32>) {
  // expected-error @below {{do not broadcast to the pairs [4, 4] (rope_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.rope %x, %c, %c : (tensor<4x8xf32>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @embedding_c1(%i: tensor<4xi32>, %w: tensor<8xf32>) {
  // expected-error @below {{table [8] is not of rank two (embedding_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.embedding %i, %w : (tensor<4xi32>, tensor<8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @gather_c1(%i: tensor<4xi32>, %w: tensor<8xf32>) {
  // expected-error @below {{axis 1 is not a dimension of shape [8] (gather_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.gather %w, %i axis = 1 : (tensor<8xf32>, tensor<4xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @segment_sum_axis(%x: tensor<8x4xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{axis 2 is not a dimension of shape [8, 4] (segment_sum_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.segment_sum %x, %i axis = 2 segments = 3 : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @segment_sum_indices(%x: tensor<8x4xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{indices of shape [8] do not name a segment for each of 4 slices (segment_sum_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.segment_sum %x, %i axis = 1 segments = 3 : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @segment_sum_segments(%x: tensor<8x4xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{there are -1 segments (segment_sum_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.segment_sum %x, %i axis = 0 segments = -1 : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @segment_max_axis(%x: tensor<8x4xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{axis 2 is not a dimension of shape [8, 4] (segment_max_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.segment_max %x, %i axis = 2 segments = 3 : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @segment_max_indices(%x: tensor<8x4xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{indices of shape [8] do not name a segment for each of 4 slices (segment_max_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.segment_max %x, %i axis = 1 segments = 3 : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<8x3xf32>
  return
}

// -----

func.func @segment_max_segments(%x: tensor<8x4xf32>, %i: tensor<8xi32>) {
  // expected-error @below {{there are -1 segments (segment_max_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.segment_max %x, %i axis = 0 segments = -1 : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<3x4xf32>
  return
}

// -----

ark.program @update_c1(%x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  // expected-error @below {{writes to a tensor that is not a state (update_c1)}}
  %0 = ark.update %x into %x [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  ark.return
}

// -----

ark.program @update_c2(%s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
                       %x: tensor<9xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  // expected-error @below {{value 'tensor<9xf32>' does not fit into state 'tensor<8xf32>' (update_c2)}}
  %0 = ark.update %x into %s [0] : (tensor<8xf32>, tensor<9xf32>) -> tensor<8xf32>
  ark.return
}

// -----

ark.program @update_c3(%s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
                       %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  // expected-error @below {{has 2 static offsets and 0 dynamic ones for rank 1 (update_c3)}}
  %0 = ark.update %x into %s [0, 0] : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  ark.return
}

// -----

ark.program @update_c4(%s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
                       %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  // expected-error @below {{slice at offset 5 leaves dimension 0 of 'tensor<8xf32>' (update_c4)}}
  %0 = ark.update %x into %s [5] : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  ark.return
}

// -----

ark.program @update_c4_beyond64Bits(%s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
                       %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  // expected-error @below {{slice at offset 9223372036854775807 leaves dimension 0 of 'tensor<8xf32>' (update_c4)}}
  %0 = ark.update %x into %s [9223372036854775807] : (tensor<8xf32>, tensor<4xf32>) -> tensor<8xf32>
  ark.return
}

// -----

func.func @name_of_an_op(%x: tensor<8xi8>) {
  // expected-error @below {{attribute 'ark.name' must be a string}}
  %0 = ark.neg %x {ark.name = 1} : (tensor<8xi8>) -> tensor<8xi8>
  return
}

// -----

func.func @tooManyDimensions(%x: tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) {
  // expected-error @below {{operand #0 must be statically shaped tensor (at most 32 dimensions) of f32, f16 or bf16 values}}
  %0 = ark.exp %x : (tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1x1xf32>
  return
}

// -----

func.func @reshape_c1_beyond_64_bits(%x: tensor<0xf32>) {
  // expected-error @below {{cannot reshape [0] to [4611686018427387904, 4] (reshape_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.reshape %x shape = [4611686018427387904, 4] : (tensor<0xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @concat_c3_beyond_64_bits(%x: tensor<9223372036854775807xf32>) {
  // expected-error @below {{has more than 2^63 elements in dimension 0 (concat_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.concat %x, %x axis = 0 : (tensor<9223372036854775807xf32>, tensor<9223372036854775807xf32>) -> tensor<4xf32>
  return
}

// -----

// Ops are verified before their program, so the argument may still lack a kind.
ark.program @update_c1_without_a_kind(%s: tensor<8xf32>) {
  %c = ark.constant dense<0.0> : tensor<8xf32>
  // expected-error @below {{writes to a tensor that is not a state (update_c1)}}
  %0 = ark.update %c into %s [0] : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  ark.return
}

// -----

ark.program @update_c5(%s: tensor<3x8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
                       %x: tensor<3x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
                       %p: tensor<2xi32> {ark.kind = #ark.kind<input>, ark.name = "p"}) {
  // expected-error @below {{offset [2] of dimension 1 is neither a scalar nor an offset for each sequence of [3, 1] (update_c5)}}
  %0 = ark.update %x into %s [0, %p] : (tensor<3x8xf32>, tensor<3x1xf32>, tensor<2xi32>) -> tensor<3x8xf32>
  ark.return
}

// -----

ark.program @update_c5_firstDimension(%s: tensor<8x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
                                      %x: tensor<3x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
                                      %p: tensor<2xi32> {ark.kind = #ark.kind<input>, ark.name = "p"}) {
  // expected-error @below {{offset [2] of dimension 0 is neither a scalar nor an offset for each sequence of [3, 4] (update_c5)}}
  %0 = ark.update %x into %s [%p, 0] : (tensor<8x4xf32>, tensor<3x4xf32>, tensor<2xi32>) -> tensor<8x4xf32>
  ark.return
}

// -----

ark.program @update_c2_rowOfEachSequence(%s: tensor<2x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
                                         %x: tensor<3x5xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
                                         %p: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "p"}) {
  // expected-error @below {{value 'tensor<3x5xf32>' does not fit into state 'tensor<2x4xf32>' (update_c2)}}
  %0 = ark.update %x into %s [%p, 0] : (tensor<2x4xf32>, tensor<3x5xf32>, tensor<3xi32>) -> tensor<2x4xf32>
  ark.return
}
