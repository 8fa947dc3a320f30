// RUN: ark-opt %s --ark-verify-ranks --split-input-file --verify-diagnostics

module attributes {ark.representative} {
  ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 4 : i64} {
    // expected-error @+1 {{'ark.broadcast' names a rank, in a program that stands for all ranks (ranks_c6)}}
    %0 = ark.broadcast %x root = 0 world_size = 4 : (tensor<4xf32>) -> tensor<4xf32>
    ark.return %0 : tensor<4xf32>
  }
}

// -----

module attributes {ark.representative} {
  ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 4 : i64} {
    ark.return %x : tensor<4xf32>
  }
  // expected-error @+1 {{program 'q' is the second program of a module in which one program stands for all ranks (ranks_c6)}}
  ark.program @q(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 4 : i64} {
    ark.return %x : tensor<4xf32>
  }
}

// -----

module attributes {ark.representative, ark.domains = array<i64: 0, 0, 1, 1>} {
  // expected-error @+1 {{stands for all ranks, and the ranks have domains (ranks_c6)}}
  ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 4 : i64} {
    ark.return %x : tensor<4xf32>
  }
}
