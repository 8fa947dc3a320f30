// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @windows_entries(%x: tensor<2x9x7xf32>) {
  // expected-error @below {{has 2 sizes, 1 strides and 2 dilations for rank 3 (windows_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.windows %x sizes = [3, 3] strides = [1] dilations = [1, 1] : (tensor<2x9x7xf32>) -> tensor<2x3x3x7x5xf32>
  return
}

// -----

func.func @windows_rank(%x: tensor<9xf32>) {
  // expected-error @below {{has 2 sizes, 2 strides and 2 dilations for rank 1 (windows_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.windows %x sizes = [3, 3] strides = [1, 1] dilations = [1, 1] : (tensor<9xf32>) -> tensor<3x3x7x7xf32>
  return
}

// -----

func.func @windows_positive(%x: tensor<9xf32>) {
  // expected-error @below {{sizes, strides and dilations must be positive (windows_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.windows %x sizes = [3] strides = [0] dilations = [1] : (tensor<9xf32>) -> tensor<3x7xf32>
  return
}

// -----

func.func @windows_fit(%x: tensor<4x8xf32>) {
  // expected-error @below {{a window of 5 elements with dilation 2 does not fit into extent 8 (windows_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.windows %x sizes = [5] strides = [1] dilations = [2] : (tensor<4x8xf32>) -> tensor<4x5x1xf32>
  return
}

// -----

func.func @windows_result(%x: tensor<9xf32>) {
  // expected-error @below {{inferred type(s) 'tensor<3x4xf32>' are incompatible with return type(s) of operation 'tensor<3x7xf32>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.windows %x sizes = [3] strides = [2] dilations = [1] : (tensor<9xf32>) -> tensor<3x7xf32>
  return
}
