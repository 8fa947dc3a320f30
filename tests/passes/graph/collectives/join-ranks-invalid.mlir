// RUN: ark-opt %s --ark-join-ranks --split-input-file --verify-diagnostics

ark.program @channel_c1_form(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // expected-note @below {{put here}}
  ark.channel.put %c, %x : !ark.channel, tensor<4xf32>
  ark.return
}
ark.program @other() attributes {rank = 1 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 0 tag = 0 : !ark.channel
  // expected-error @below {{takes 'tensor<4xf32>' by 'ark.channel.read_packet' where its peer put 'tensor<4xf32>' by 'ark.channel.put' (channel_c1)}}
  %0 = ark.channel.read_packet %c : !ark.channel -> tensor<4xf32>
  ark.return
}

// -----

ark.program @channel_c1_type(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // expected-note @below {{put here}}
  ark.channel.put_packet %c, %x : !ark.channel, tensor<4xf32>
  ark.return
}
ark.program @other() attributes {rank = 1 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 0 tag = 0 : !ark.channel
  // expected-error @below {{takes 'tensor<2xf32>' by}}
  %0 = ark.channel.read_packet %c : !ark.channel -> tensor<2xf32>
  ark.return
}

// -----

ark.program @channel_c2_circle(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // expected-error @below {{rank 0 waits for rank 1, which waits itself: no rank can proceed (channel_c2)}}
  %0 = ark.channel.read_packet %c : !ark.channel -> tensor<4xf32>
  ark.channel.put_packet %c, %x : !ark.channel, tensor<4xf32>
  ark.return
}
ark.program @other(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 1 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 0 tag = 0 : !ark.channel
  // expected-note @below {{rank 1 waits for rank 0}}
  %0 = ark.channel.read_packet %c : !ark.channel -> tensor<4xf32>
  ark.channel.put_packet %c, %x : !ark.channel, tensor<4xf32>
  ark.return
}

// -----

ark.program @channel_c2_lonely_wait() attributes {rank = 0 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // expected-error @below {{rank 0 waits for rank 1, which has ended: no rank can proceed (channel_c2)}}
  ark.channel.wait %c : !ark.channel
  ark.return
}
ark.program @other() attributes {rank = 1 : i64, world_size = 2 : i64} {
  ark.return
}

// -----

ark.program @channel_c2_lonely_put(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // expected-error @below {{rank 0 puts a tensor to rank 1 that is never taken (channel_c2)}}
  ark.channel.put_packet %c, %x : !ark.channel, tensor<4xf32>
  ark.return
}
ark.program @other() attributes {rank = 1 : i64, world_size = 2 : i64} {
  ark.return
}

// -----

ark.program @channel_c3(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  // expected-error @below {{leads to rank 4294967296, which has no program here (channel_c3)}}
  %c = ark.channel.open peer = 4294967296 tag = 0 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<4xf32>
  ark.return
}

// -----

ark.program @channel_c3_missing() attributes {rank = 0 : i64, world_size = 2 : i64} {
  // expected-error @below {{leads to rank 1, which has no program here (channel_c3)}}
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  ark.channel.wait %c : !ark.channel
  ark.return
}
