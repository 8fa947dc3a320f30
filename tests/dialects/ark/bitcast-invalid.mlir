// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @bitcast_c1(%x: tensor<4xui8>) {
  // expected-error @below {{the bytes of 'ui8' may not be values of 'i1' (bitcast_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.bitcast %x to i1 : (tensor<4xui8>) -> tensor<4xi1>
  return
}

// -----

func.func @bitcast_to_an_index(%x: tensor<4xi64>) {
  // expected-error @below {{result #0 must be statically shaped tensor (at most 32 dimensions) of element values}}
  %0 = ark.bitcast %x to index : (tensor<4xi64>) -> tensor<4xindex>
  return
}

// -----

func.func @bitcast_c2(%x: tensor<8x3xf16>) {
  // expected-error @below {{the last dimension of 'tensor<8x3xf16>' does not fill elements of 'f32' (bitcast_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.bitcast %x to f32 : (tensor<8x3xf16>) -> tensor<12xf32>
  return
}

// -----

func.func @bitcast_c2_rank(%x: tensor<f32>) {
  // expected-error @below {{the last dimension of 'tensor<f32>' does not fill elements of 'f16' (bitcast_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.bitcast %x to f16 : (tensor<f32>) -> tensor<2xf16>
  return
}

// -----

// No byte buffer holds elements of 4 bits.
func.func @bitcast_element(%x: tensor<8xi8>) {
  // expected-error @below {{result #0 must be statically shaped tensor (at most 32 dimensions) of element values}}
  %0 = ark.bitcast %x to i4 : (tensor<8xi8>) -> tensor<8xi4>
  return
}

// -----

// The verifier must not divide by the size of an i0 element, which is zero.
func.func @bitcast_c1_nothing(%x: tensor<4xf32>) {
  // expected-error @below {{the bytes of 'f32' may not be values of 'i0' (bitcast_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.bitcast %x to i0 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @bitcast_c2_beyond_64_bits(%x: tensor<4611686018427387904xf32>) {
  // expected-error @below {{does not fill elements of 'f16' (bitcast_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.bitcast %x to f16 : (tensor<4611686018427387904xf32>) -> tensor<4xf16>
  return
}
