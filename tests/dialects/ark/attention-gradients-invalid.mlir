// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @attention_gradient_c1(%q: tensor<2x3x4x8xf32>, %k: tensor<2x1x5x8xf32>, %v: tensor<2x5x6xf32>, %g: tensor<2x3x4x6xf32>, %s: tensor<2x3x4xf32>) {
  // expected-error @below {{q and the cotangent need one rank, four or more, and k and v one rank less (attention_gradient_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_query_gradient %q, %k, %v, %g, %s, %s scale = 1.0
    : (tensor<2x3x4x8xf32>, tensor<2x1x5x8xf32>, tensor<2x5x6xf32>, tensor<2x3x4x6xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @attention_gradient_c1_element(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf16>, %g: tensor<2x3x4x6xf32>, %s: tensor<2x3x4xf32>) {
  // expected-error @below {{operands have different element types, 'f32' and 'f16'; cast one of them (attention_gradient_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_query_gradient %q, %k, %v, %g, %s, %s scale = 1.0
    : (tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf16>, tensor<2x3x4x6xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @attention_gradient_c2(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %g: tensor<2x3x4x7xf32>, %s: tensor<2x3x4xf32>) {
  // expected-error @below {{q [2, 3, 4, 8], k [2, 5, 8], v [2, 5, 6] and the cotangent [2, 3, 4, 7] do not fit together (attention_gradient_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_query_gradient %q, %k, %v, %g, %s, %s scale = 1.0
    : (tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>, tensor<2x3x4x7xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @attention_gradient_c3(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %g: tensor<2x3x4x6xf32>, %s: tensor<2x3xf32>) {
  // expected-error @below {{needs log_sum_exp and mean of shape [2, 3, 4], not [2, 3] (attention_gradient_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_query_gradient %q, %k, %v, %g, %s, %s scale = 1.0
    : (tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>, tensor<2x3x4x6xf32>, tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3x4x8xf32>
  return
}

// -----

func.func @attention_gradient_c4(%q: tensor<2x3x4x8xf32>, %k: tensor<2x5x8xf32>, %v: tensor<2x5x6xf32>, %g: tensor<2x3x4x6xf32>, %s: tensor<2x3x4xf32>, %m: tensor<4x6xf32>) {
  // expected-error @below {{mask 'tensor<4x6xf32>' does not broadcast to the scores [2, 3, 4, 5] as bool or 'f32' (attention_gradient_c4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.attention_query_gradient %q, %k, %v, %g, %s, %s mask %m scale = 1.0
    : (tensor<2x3x4x8xf32>, tensor<2x5x8xf32>, tensor<2x5x6xf32>, tensor<2x3x4x6xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<4x6xf32>) -> tensor<2x3x4x8xf32>
  return
}
