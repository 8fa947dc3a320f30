// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @attention_c1(%q: tensor<4x8xf32>) {
  // expected-error @below {{q, k and v need one rank, three or more (attention_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention %q, %q, %q scale = 1.0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @attention_c2(%q: tensor<3x4x8xf32>, %k: tensor<2x4x8xf32>) {
  // expected-error @below {{q [3, 4, 8], k [2, 4, 8] and v [2, 4, 8] do not fit together (attention_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention %q, %k, %k scale = 1.0
    : (tensor<3x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<3x4x8xf32>
  return
}

// -----

func.func @attention_c3(%q: tensor<2x4x8xf32>, %m: tensor<4x5xf32>) {
  // expected-error @below {{mask 'tensor<4x5xf32>' does not broadcast to the scores [2, 4, 4] as bool or 'f32' (attention_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention %q, %q, %q mask %m scale = 1.0
    : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x5xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @partial_attention_c1(%q: tensor<2x4x8xf32>) {
  // expected-error @below {{k and v need one rank more than q, which has three or more (partial_attention_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_attention %q, %q, %q scale = 1.0 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x4x10xf32>
  return
}

// -----

func.func @partial_attention_c1_element(%q: tensor<2x4x8xf32>, %k: tensor<2x4x4x8xf16>) {
  // expected-error @below {{(partial_attention_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_attention %q, %k, %k scale = 1.0 : (tensor<2x4x8xf32>, tensor<2x4x4x8xf16>, tensor<2x4x4x8xf16>) -> tensor<2x4x4x10xf32>
  return
}

// -----

func.func @partial_attention_c2(%q: tensor<2x1x8xf32>, %k: tensor<2x4x4x8xf32>, %v: tensor<2x8x2x8xf32>) {
  // expected-error @below {{q [2, 1, 8], k [2, 4, 4, 8] and v [2, 8, 2, 8] do not fit together (partial_attention_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_attention %q, %k, %v scale = 1.0
    : (tensor<2x1x8xf32>, tensor<2x4x4x8xf32>, tensor<2x8x2x8xf32>) -> tensor<2x1x4x10xf32>
  return
}

// -----

func.func @partial_attention_c3(%q: tensor<2x1x8xf32>, %k: tensor<2x4x3x8xf32>, %m: tensor<1x12xf32>) {
  // expected-error @below {{mask 'tensor<1x12xf32>' does not broadcast to the scores [2, 1, 4, 3] as bool or 'f32' (partial_attention_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_attention %q, %k, %k mask %m scale = 1.0
    : (tensor<2x1x8xf32>, tensor<2x4x3x8xf32>, tensor<2x4x3x8xf32>, tensor<1x12xf32>) -> tensor<2x1x3x10xf32>
  return
}

// -----

func.func @combine_attention_c1(%x: tensor<4x1xf32>) {
  // expected-error @below {{needs rank two or more and a last extent of two or more, not [4, 1] (combine_attention_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.combine_attention %x : (tensor<4x1xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @attention_c4(%q: tensor<3x2x4x8xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{kv_length [2] is neither a scalar nor a length for each of the sequences [3] (attention_c4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention %q, %q, %q kv_length %n scale = 1.0
    : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<2xi32>) -> tensor<3x2x4x8xf32>
  return
}

// -----

func.func @partial_attention_c4(%q: tensor<3x2x1x8xf32>, %k: tensor<3x2x4x2x8xf32>, %n: tensor<3x2xi32>) {
  // expected-error @below {{kv_length [3, 2] is neither a scalar nor a length for each of the sequences [3] (partial_attention_c4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.partial_attention %q, %k, %k kv_length %n scale = 1.0
    : (tensor<3x2x1x8xf32>, tensor<3x2x4x2x8xf32>, tensor<3x2x4x2x8xf32>, tensor<3x2xi32>) -> tensor<3x2x1x2x10xf32>
  return
}

// -----

func.func @attention_log_sum_exp_c1(%q: tensor<4x8xf32>) {
  // expected-error @below {{q, k and v need one rank, three or more (attention_log_sum_exp_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_log_sum_exp %q, %q, %q scale = 1.0 : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @attention_log_sum_exp_c2(%q: tensor<3x4x8xf32>, %k: tensor<2x4x8xf32>) {
  // expected-error @below {{q [3, 4, 8], k [2, 4, 8] and v [2, 4, 8] do not fit together (attention_log_sum_exp_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_log_sum_exp %q, %k, %k scale = 1.0
    : (tensor<3x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<3x4x1xf32>
  return
}

// -----

func.func @attention_log_sum_exp_c3(%q: tensor<2x4x8xf32>, %m: tensor<4x5xf32>) {
  // expected-error @below {{mask 'tensor<4x5xf32>' does not broadcast to the scores [2, 4, 4] as bool or 'f32' (attention_log_sum_exp_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_log_sum_exp %q, %q, %q mask %m scale = 1.0
    : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<4x5xf32>) -> tensor<2x4x1xf32>
  return
}

// -----

func.func @attention_log_sum_exp_c4(%q: tensor<3x2x4x8xf32>, %n: tensor<2xi32>) {
  // expected-error @below {{kv_length [2] is neither a scalar nor a length for each of the sequences [3] (attention_log_sum_exp_c4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_log_sum_exp %q, %q, %q kv_length %n scale = 1.0
    : (tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<3x2x4x8xf32>, tensor<2xi32>) -> tensor<3x2x4x1xf32>
  return
}

// -----

func.func @resultOfLogSumExp(%q: tensor<2x4x8xbf16>) {
  // expected-error @below {{failed to infer returned types}}
  // expected-error @below {{incompatible with return type(s) of operation}}
  %0 = ark.attention_log_sum_exp %q, %q, %q scale = 1.0
    : (tensor<2x4x8xbf16>, tensor<2x4x8xbf16>, tensor<2x4x8xbf16>) -> tensor<2x4x8xbf16>
  return
}
