// RUN: ark-opt %s --split-input-file --verify-diagnostics

func.func @packet_c1_pack(%x: tensor<4xi64>) {
  // expected-error @below {{a packet cannot hold 'i64': its values have at most 32 bits (packet_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.pack_packet %x : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @packet_c1_unpack(%x: tensor<4xi64>) {
  // expected-error @below {{a packet cannot hold 'i64': its values have at most 32 bits (packet_c1)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.unpack_packet %x to i64 : (tensor<4xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @packet_c2(%x: tensor<4xf32>) {
  // expected-error @below {{'tensor<4xf32>' holds no packets (packet_c2)}}
  // expected-error @below {{failed to infer returned types}}
  %0 = ark.unpack_packet %x to f32 : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @packet_c1_put(%x: tensor<4xi64>) {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // expected-error @below {{a packet cannot hold 'i64': its values have at most 32 bits (packet_c1)}}
  ark.channel.put_packet %c, %x : !ark.channel, tensor<4xi64>
  return
}

// -----

func.func @packet_c1_read() {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // expected-error @below {{a packet cannot hold 'i64': its values have at most 32 bits (packet_c1)}}
  %0 = ark.channel.read_packet %c : !ark.channel -> tensor<4xi64>
  return
}
