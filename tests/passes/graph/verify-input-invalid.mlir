// RUN: ark-opt %s --ark-verify-input --split-input-file --verify-diagnostics

ark.program @collectiveNeedsSeveralRanks(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  %0 = ark.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  // expected-error @below {{'ark.all_reduce' needs a program with rank and world_size}}
  %1 = ark.all_reduce sum %0 world_size = 4 : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %1 : tensor<8xf32>
}

// -----

// A receive is a collective although it is not an anchor.
ark.program @receiveNeedsSeveralRanks() -> (tensor<8xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.recv' needs a program with rank and world_size}}
  %0 = ark.recv from 1 tag = 8 : tensor<8xf32>
  ark.return %0 : tensor<8xf32>
}

// -----

ark.program @channelsNeedSeveralRanks(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.channel.open' needs a program with rank and world_size}}
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  ark.return %x : tensor<8xf32>
}

// -----

ark.program @tasksComeAfterTiling(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // expected-error @below {{'tensor.empty' is not an op of a tensor program; the graph stage takes ark ops on tensors}}
  %e = tensor.empty() : tensor<8xf32>
  %0 = ark.task "copy" grid [1] ins(%x[#ark.region<(d0) -> (0), [8]>] : tensor<8xf32>)
      outs(%e[#ark.region<(d0) -> (0), [8]>] : tensor<8xf32>) {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    ark.yield %a : tensor<8xf32>
  } : tensor<8xf32>
  ark.return %0 : tensor<8xf32>
}

// -----

// expected-error @below {{program 'buffersComeAfterMemory' works on buffers already; the graph stage takes tensors}}
ark.program @buffersComeAfterMemory(
    %x: memref<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.return
}

// -----

ark.program @tableWithoutRows(
    %i: tensor<2xi32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %w: tensor<0x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2x4xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.embedding' reads rows of a table without rows}}
  %0 = ark.embedding %i, %w : (tensor<2xi32>, tensor<0x4xf32>) -> tensor<2x4xf32>
  ark.return %0 : tensor<2x4xf32>
}

// -----

ark.program @gatherFromNothing(
    %x: tensor<4x0xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<2xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<4x2xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.gather' reads elements of an empty dimension}}
  %0 = ark.gather %x, %i axis = 1 : (tensor<4x0xf32>, tensor<2xi32>) -> tensor<4x2xf32>
  ark.return %0 : tensor<4x2xf32>
}

// -----

ark.program @attentionWithoutDepth(
    %q: tensor<2x4x0xf32> {ark.kind = #ark.kind<input>, ark.name = "q"})
    -> (tensor<2x4x0xf32> {ark.name = "y"}) {
  // expected-error @below {{'ark.attention' compares queries and keys of depth zero}}
  %0 = ark.attention %q, %q, %q scale = 1.0
    : (tensor<2x4x0xf32>, tensor<2x4x0xf32>, tensor<2x4x0xf32>) -> tensor<2x4x0xf32>
  ark.return %0 : tensor<2x4x0xf32>
}

// -----

ark.program @input_c1(
    %x: tensor<16777216x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<16777216xf32> {ark.kind = #ark.kind<input>, ark.name = "y"})
    -> (tensor<16777216x1xf32> {ark.name = "z"}) {
  // expected-error @below {{'ark.add' has a result of type 'tensor<16777216x16777216xf32>', more than 2^47 bytes (input_c1)}}
  %0 = ark.add %x, %y
    : (tensor<16777216x1xf32>, tensor<16777216xf32>) -> tensor<16777216x16777216xf32>
  %1 = ark.reduce_sum %0 axes = [1] keepdims = true
    : (tensor<16777216x16777216xf32>) -> tensor<16777216x1xf32>
  ark.return %1 : tensor<16777216x1xf32>
}

// -----

ark.program @input_c2_fewer() -> (tensor<8xf32> {ark.name = "y"}) {
  // expected-error @below {{the regions of the result have fewer elements than 'tensor<8xf32>': some would never be written (input_c2)}}
  %0 = ark.custom grid [2] ins() out <(d0) -> (d0 * 4), [3]> {
  ^bb0(%i: index, %o: tensor<3xf32>):
    ark.yield %o : tensor<3xf32>
  } : tensor<8xf32>
  ark.return %0 : tensor<8xf32>
}

// -----

ark.program @input_c2_more() -> (tensor<8xf32> {ark.name = "y"}) {
  // expected-error @below {{the regions of the result have more elements than 'tensor<8xf32>': some would be written by several vCTAs (input_c2)}}
  %0 = ark.custom grid [3] ins() out <(d0) -> (d0 * 2), [4]> {
  ^bb0(%i: index, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<8xf32>
  ark.return %0 : tensor<8xf32>
}

// -----

ark.program @input_c3_anchor(
    %x: tensor<8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 4, 0), [4, 4]>] : tensor<8x4xf32>)
      out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %a: tensor<4x4xf32>, %o: tensor<4xi32>):
    // expected-error @below {{'ark.argmax' cannot be part of the body of a custom op (input_c3)}}
    %1 = ark.argmax %a axis = 1 : (tensor<4x4xf32>) -> tensor<4xi32>
    ark.yield %1 : tensor<4xi32>
  } : tensor<8xi32>
  ark.return %0 : tensor<8xi32>
}

// -----

ark.program @input_c3_dynamic(
    %x: tensor<10xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<10xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [3] ins() out <(d0) -> (d0 * 4), [4]> {
  ^bb0(%i: index, %o: tensor<?xf32>):
    // expected-error @below {{'func.call' cannot be part of the body of a custom op (input_c3)}}
    %1 = func.call @f(%o) : (tensor<?xf32>) -> tensor<?xf32>
    ark.yield %1 : tensor<?xf32>
  } : tensor<10xf32>
  ark.return %0 : tensor<10xf32>
}

func.func private @f(tensor<?xf32>) -> tensor<?xf32>
