// RUN: ark-opt %s --ark-join-ranks --split-input-file --verify-diagnostics

// Rank 1 takes a value from distance 2, and no rank puts a value at distance 2.
module attributes {ark.representative} {
  ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 4 : i64} {
    %to2 = ark.channel.open peer = 2 tag = 0 : !ark.channel
    ark.channel.put %to2, %x : !ark.channel, tensor<4xf32>
    %from3 = ark.channel.open peer = 3 tag = 0 : !ark.channel
    // expected-error @+2 {{rank 0 waits for rank 1, which waits itself: no rank can proceed (channel_c2)}}
    // expected-note @+1 {{rank 1 waits for rank 0}}
    %0 = ark.channel.get %from3 : !ark.channel -> tensor<4xf32>
    ark.return %0 : tensor<4xf32>
  }
}

// -----

module attributes {ark.representative} {
  ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 4 : i64} {
    // expected-error @+1 {{leads to rank 7, which has no program here (channel_c3)}}
    %to7 = ark.channel.open peer = 7 tag = 0 : !ark.channel
    ark.channel.put %to7, %x : !ark.channel, tensor<4xf32>
    ark.return %x : tensor<4xf32>
  }
}

// -----

module attributes {ark.representative} {
  ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
    ark.return %x : tensor<4xf32>
  }
  // expected-error @+1 {{is the second program of a module in which one program stands for all ranks (channel_c4)}}
  ark.program @q(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 2 : i64} {
    ark.return %x : tensor<4xf32>
  }
}
