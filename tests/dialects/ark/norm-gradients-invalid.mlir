// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @norm_gradient_c1(%x: tensor<f32>) {
  // expected-error @below {{needs a tensor of rank one or more (norm_gradient_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.norm_input_gradient %x, %x eps = 1.0e-5 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @norm_gradient_c2_shape(%x: tensor<4x64xf32>, %g: tensor<4x32xf32>) {
  // expected-error @below {{the cotangent is 'tensor<4x32xf32>' where 'tensor<4x64xf32>' is needed (norm_gradient_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.norm_input_gradient %x, %g eps = 1.0e-5 : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  return
}

// -----

func.func @norm_gradient_c2_element(%x: tensor<4x64xbf16>, %g: tensor<4x64xf32>) {
  // expected-error @below {{the cotangent is 'tensor<4x64xf32>' where 'tensor<4x64xbf16>' is needed (norm_gradient_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.norm_input_gradient %x, %g eps = 1.0e-5 : (tensor<4x64xbf16>, tensor<4x64xf32>) -> tensor<4x64xbf16>
  return
}

// -----

func.func @norm_gradient_c3(%x: tensor<4x64xf32>, %w: tensor<4xf32>) {
  // expected-error @below {{the weight is 'tensor<4xf32>' where 'tensor<64xf32>' is needed (norm_gradient_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.norm_input_gradient %x, %x weight %w eps = 1.0e-5 : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
  return
}

// -----

func.func @norm_statistics_c1(%x: tensor<4x0xf32>) {
  // expected-error @below {{shape [4, 0] has no last dimension of positive extent (norm_statistics_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.norm_statistics %x eps = 1.0e-5 : (tensor<4x0xf32>) -> tensor<4x1xf32>
  return
}

// -----

func.func @norm_statistics_type(%x: tensor<4x64xbf16>) {
  // expected-error @below {{'ark.norm_statistics' op inferred type(s) 'tensor<4x2xf32>' are incompatible with return type(s) of operation 'tensor<4x1xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.norm_statistics %x eps = 1.0e-5 {centred} : (tensor<4x64xbf16>) -> tensor<4x1xf32>
  return
}
