// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @convolution_rank(%f: tensor<64x3x3xf16>, %x: tensor<64x30x8xf16>) {
  // expected-error @below {{needs filters of rank four or more, not [64, 3, 3], and images of rank three or more, not [64, 30, 8] (convolution_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 3 dilation = 3
      : (tensor<64x3x3xf16>, tensor<64x30x8xf16>) -> tensor<16x8x8xf16>
  return
}

// -----

func.func @convolution_elements(%f: tensor<16x64x3x3xf16>, %x: tensor<64x30x8xf32>) {
  // expected-error @below {{(convolution_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 3 dilation = 3
      : (tensor<16x64x3x3xf16>, tensor<64x30x8xf32>) -> tensor<16x8x8xf16>
  return
}

// -----

func.func @convolution_channels(%f: tensor<16x64x3x3xf16>, %x: tensor<32x30x8xf16>) {
  // expected-error @below {{filters of shape [16, 64, 3, 3] do not fit images of shape [32, 30, 8] (convolution_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 3 dilation = 3
      : (tensor<16x64x3x3xf16>, tensor<32x30x8xf16>) -> tensor<16x8x8xf16>
  return
}

// -----

func.func @convolution_groups(%f: tensor<2x16x64x3x3xf16>, %x: tensor<3x64x30x8xf16>) {
  // expected-error @below {{do not fit images of shape [3, 64, 30, 8] (convolution_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 3 dilation = 3
      : (tensor<2x16x64x3x3xf16>, tensor<3x64x30x8xf16>) -> tensor<3x16x8x8xf16>
  return
}

// -----

func.func @convolution_stride(%f: tensor<16x64x3x3xf16>, %x: tensor<64x30x8xf16>) {
  // expected-error @below {{needs a positive stride and a positive dilation, not 0 and 3 (convolution_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 0 dilation = 3
      : (tensor<16x64x3x3xf16>, tensor<64x30x8xf16>) -> tensor<16x8x8xf16>
  return
}

// -----

// The first window ends at row 8 of the image.
func.func @convolution_rows(%f: tensor<16x64x3x3xf16>, %x: tensor<64x8x8xf16>) {
  // expected-error @below {{a window of 3 x 3 rows with dilation 3 does not fit into 8 rows (convolution_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 3 dilation = 3
      : (tensor<16x64x3x3xf16>, tensor<64x8x8xf16>) -> tensor<16x1x8xf16>
  return
}

// -----

// The rows of a window exceed i64.
func.func @convolution_overflow(%f: tensor<16x64x3x3xf16>, %x: tensor<64x30x8xf16>) {
  // expected-error @below {{does not fit into 30 rows (convolution_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 3 dilation = 9223372036854775807
      : (tensor<16x64x3x3xf16>, tensor<64x30x8xf16>) -> tensor<16x8x8xf16>
  return
}

// -----

func.func @convolution_result(%f: tensor<16x64x3x3xf16>, %x: tensor<64x30x8xf16>) {
  // expected-error @below {{inferred type(s) 'tensor<16x8x8xf16>' are incompatible with return type(s) of operation 'tensor<16x9x8xf16>'}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.convolution %f, %x stride = 3 dilation = 3
      : (tensor<16x64x3x3xf16>, tensor<64x30x8xf16>) -> tensor<16x9x8xf16>
  return
}
