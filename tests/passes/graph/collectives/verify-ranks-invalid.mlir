// RUN: ark-opt %s --ark-verify-ranks --split-input-file --verify-diagnostics

// expected-error @below {{program 'ranks_c1_missing' belongs to a world of 2 ranks, and rank 1 has no program here: compile all of them together (ranks_c1)}}
ark.program @ranks_c1_missing() attributes {rank = 0 : i64, world_size = 2 : i64} {
  ark.return
}

// -----

// expected-note @below {{first program of rank 0}}
ark.program @ranks_c1_twice() attributes {rank = 0 : i64, world_size = 2 : i64} {
  ark.return
}
// expected-error @below {{program 'other' is the second program of rank 0 (ranks_c1)}}
ark.program @other() attributes {rank = 0 : i64, world_size = 2 : i64} {
  ark.return
}

// -----

// expected-note @below {{program of the world of 2 ranks}}
ark.program @ranks_c1_sizes() attributes {rank = 0 : i64, world_size = 2 : i64} {
  ark.return
}
// expected-error @below {{program 'other' belongs to a world of 3 ranks, but program 'ranks_c1_sizes' to a world of 2 ranks (ranks_c1)}}
ark.program @other() attributes {rank = 1 : i64, world_size = 3 : i64} {
  ark.return
}

// -----

// expected-note @below {{program with a rank}}
ark.program @ranks_c1_without() attributes {rank = 0 : i64, world_size = 1 : i64} {
  ark.return
}
// expected-error @below {{program 'other' has no rank, but program 'ranks_c1_without' of the same module has one (ranks_c1)}}
ark.program @other() {
  ark.return
}

// -----

ark.program @ranks_c2(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 1 : i64} {
  // expected-error @below {{'ark.all_reduce' belongs to a world of 2 ranks, but its program to a world of 1 (ranks_c2)}}
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return
}

// -----

ark.program @ranks_c3_kind(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  // expected-error @below {{collective 1 of rank 0 is 'ark.all_reduce sum of tensor<4xf32>', but collective 1 of rank 1 is 'ark.all_reduce max of tensor<4xf32>' (ranks_c3)}}
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return
}
ark.program @other(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 1 : i64, world_size = 2 : i64} {
  // expected-note @below {{collective 1 of rank 1}}
  %0 = ark.all_reduce max %x world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return
}

// -----

// expected-note @below {{program of rank 0}}
ark.program @ranks_c3_missing(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.all_gather %x axis = 0 world_size = 2 : (tensor<4xf32>) -> tensor<8xf32>
  ark.return
}
ark.program @other(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 1 : i64, world_size = 2 : i64} {
  %0 = ark.all_gather %x axis = 0 world_size = 2 : (tensor<4xf32>) -> tensor<8xf32>
  // expected-error @below {{collective 2 of rank 1 is 'ark.broadcast of tensor<4xf32> root = 1', but rank 0 has no collective 2 (ranks_c3)}}
  %1 = ark.broadcast %x root = 1 world_size = 2 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return
}

// -----

ark.program @ranks_c4_tag(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  // expected-error @below {{rank 0 sends a tensor to rank 1 under tag 1 that rank 1 never receives (ranks_c4)}}
  %0 = ark.send %x to 1 tag = 1 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return
}
ark.program @other() attributes {rank = 1 : i64, world_size = 2 : i64} {
  // expected-note @below {{rank 1 receives a tensor from rank 0 under tag 2 here}}
  %0 = ark.recv from 0 tag = 2 : tensor<4xf32>
  ark.return
}

// -----

ark.program @ranks_c4_lonely() attributes {rank = 0 : i64, world_size = 2 : i64} {
  // expected-error @below {{rank 0 receives a tensor from rank 1 under tag 0 that rank 1 never sends (ranks_c4)}}
  %0 = ark.recv from 1 tag = 0 : tensor<4xf32>
  ark.return
}
ark.program @other() attributes {rank = 1 : i64, world_size = 2 : i64} {
  ark.return
}

// -----

ark.program @ranks_c4_type(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  // expected-error @below {{rank 0 sends 'tensor<4xf32>' under tag 0, but rank 1 receives 'tensor<4xbf16>' (ranks_c4)}}
  %0 = ark.send %x to 1 tag = 0 : (tensor<4xf32>) -> tensor<4xf32>
  ark.return
}
ark.program @other() attributes {rank = 1 : i64, world_size = 2 : i64} {
  // expected-note @below {{rank 1 receives the tensor here}}
  %0 = ark.recv from 0 tag = 0 : tensor<4xbf16>
  ark.return
}

// -----

ark.program @ranks_c4_peer() attributes {rank = 0 : i64, world_size = 1 : i64} {
  // expected-error @below {{'ark.recv' names rank 3 of a world of 1 (ranks_c4)}}
  %0 = ark.recv from 3 tag = 0 : tensor<4xf32>
  ark.return
}

// -----

module attributes {ark.domains = array<i64: 0, 0, 1>} {
// expected-error @below {{the module names the domains of 3 ranks, but the world has 2 ranks (ranks_c5)}}
ark.program @first() attributes {rank = 0 : i64, world_size = 2 : i64} { ark.return }
ark.program @second() attributes {rank = 1 : i64, world_size = 2 : i64} { ark.return }
}
