// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @collective_c1(%x: tensor<8xf32>) {
  // expected-error @below {{world_size 0 is not from 1 to 65536 (collective_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.all_reduce sum %x world_size = 0 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @collective_c2(%x: tensor<8xf32>) {
  // expected-error @below {{axis 1 is not a dimension of 'tensor<8xf32>' (collective_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.all_gather %x axis = 1 world_size = 2 : (tensor<8xf32>) -> tensor<16xf32>
  return
}

// -----

func.func @collective_c3(%x: tensor<8xf32>) {
  // expected-error @below {{dimension 0 of 'tensor<8xf32>' does not split into 3 parts (collective_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.reduce_scatter sum %x axis = 0 world_size = 3 : (tensor<8xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @collective_c3_all_to_all(%x: tensor<8xf32>) {
  // expected-error @below {{does not split into 5 parts (collective_c3)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.all_to_all %x axis = 0 world_size = 5 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @collective_c4(%x: tensor<8xf32>) {
  // expected-error @below {{root 2 is not a rank of a world of 2 (collective_c4)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.broadcast %x root = 2 world_size = 2 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @collective_c5_send(%x: tensor<8xf32>) {
  // expected-error @below {{peer -1 is negative (collective_c5)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.send %x to -1 tag = 0 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @collective_c5_recv() {
  // expected-error @below {{peer -1 is negative (collective_c5)}}
  %0 = ark.recv from -1 tag = 0 : tensor<8xf32>
  return
}

// -----

func.func @collective_c5_open() {
  // expected-error @below {{peer -2 is negative (collective_c5)}}
  %c = ark.channel.open peer = -2 tag = 0 : !ark.channel
  return
}

// -----

func.func @collective_c6_send(%x: tensor<8xf32>) {
  // expected-error @below {{tag -1 is negative (collective_c6)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.send %x to 0 tag = -1 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @collective_c6_recv() {
  // expected-error @below {{tag -1 is negative (collective_c6)}}
  %0 = ark.recv from 0 tag = -1 : tensor<8xf32>
  return
}

// -----

func.func @collective_c1_beyond(%x: tensor<8xf32>) {
  // expected-error @below {{world_size 65537 is not from 1 to 65536 (collective_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.all_reduce sum %x world_size = 65537 : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @collective_c2_beyond_64_bits(%x: tensor<4611686018427387904xf32>) {
  // expected-error @below {{gathers more than 2^63 elements of 'tensor<4611686018427387904xf32>' in dimension 0 (collective_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.all_gather %x axis = 0 world_size = 4 : (tensor<4611686018427387904xf32>) -> tensor<8xf32>
  return
}
