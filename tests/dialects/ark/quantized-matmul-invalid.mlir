// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @quantized_matmul_c1(%x: tensor<2x2x64xbf16>, %w: tensor<8x64xf8E4M3FN>, %s: tensor<8x4xf32>) {
  // expected-error @below {{needs matrices, not a tensor of shape [2, 2, 64] (quantized_matmul_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<2x2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x4xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @quantized_matmul_c2(%x: tensor<2x64xbf16>, %w: tensor<8x32xf8E4M3FN>, %s: tensor<8x4xf32>) {
  // expected-error @below {{rows of weights have 32 elements, and rows of the input 64 (quantized_matmul_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<2x64xbf16>, tensor<8x32xf8E4M3FN>, tensor<8x4xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @quantized_matmul_c2_packed(%x: tensor<2x64xbf16>, %w: tensor<8x64xi8>, %s: tensor<8x4xf32>) {
  // expected-error @below {{rows of weights have 128 elements, and rows of the input 64 (quantized_matmul_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<2x64xbf16>, tensor<8x64xi8>, tensor<8x4xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @quantized_matmul_c3(%x: tensor<2x64xbf16>, %w: tensor<8x64xf8E4M3FN>, %s: tensor<8x5xf32>) {
  // expected-error @below {{scales of shape [8, 5] do not divide the rows of 8 x 64 weights into equal groups (quantized_matmul_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x5xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @quantized_matmul_c3_rows(%x: tensor<2x64xbf16>, %w: tensor<8x64xf8E4M3FN>, %s: tensor<7x4xf32>) {
  // expected-error @below {{scales of shape [7, 4] do not divide the rows of 8 x 64 weights into equal groups (quantized_matmul_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<7x4xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @quantized_matmul_c3_bytes(%x: tensor<2x64xbf16>, %w: tensor<8x32xi8>, %s: tensor<8x64xf32>) {
  // expected-error @below {{scales of shape [8, 64] do not divide the rows of 8 x 64 weights into equal groups of whole bytes (quantized_matmul_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<2x64xbf16>, tensor<8x32xi8>, tensor<8x64xf32>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @quantized_matmul_c4(%x: tensor<2x64xbf16>, %w: tensor<8x64xf8E4M3FN>, %s: tensor<8x4xf32>, %z: tensor<8x4xi8>) {
  // expected-error @below {{weights of 8-bit floats have no zeros (quantized_matmul_c4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s zeros %z : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x4xf32>, tensor<8x4xi8>) -> tensor<2x8xbf16>
  return
}

// -----

func.func @quantized_matmul_c4_shape(%x: tensor<2x64xbf16>, %w: tensor<8x32xi8>, %s: tensor<8x4xf32>, %z: tensor<8x2xi8>) {
  // expected-error @below {{zeros of shape [8, 2] differ from scales of shape [8, 4] (quantized_matmul_c4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.quantized_matmul %x, %w scales %s zeros %z : (tensor<2x64xbf16>, tensor<8x32xi8>, tensor<8x4xf32>, tensor<8x2xi8>) -> tensor<2x8xbf16>
  return
}
