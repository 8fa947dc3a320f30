// RUN: ark-opt %s --ark-tile-groups --split-input-file --verify-diagnostics

ark.program @groupWithoutATile(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{group 'g' has no tile; run ark-select-tiles first}}
  %0 = ark.group "g" (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    ark.yield %a : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @planWithoutWarps(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'g' has warps = 0 : i64; expected a positive number or a range [begin, end]}}
  %0 = ark.group "g" (%a = %x) attributes {plan = {warps = 0 : i64}, tile = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32> {
    ark.yield %a : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @planWithAnEmptyRangeOfWarps(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'g' has warps = array<i64: 4, 4>; expected a positive number or a range [begin, end]}}
  %0 = ark.group "g" (%a = %x) attributes {plan = {warps = array<i64: 4, 4>}, tile = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32> {
    ark.yield %a : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// -----

// A tile must not span two parts of a concat.
ark.program @concatCutAlongItsAxis(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x) attributes {tile = array<i64: 2>} : (tensor<4xf32>) -> tensor<8xf32> {
    %e = tensor.empty() : tensor<8xf32>
    %1 = tensor.insert_slice %a into %e[0] [4] [1] : tensor<4xf32> into tensor<8xf32>
    // expected-error @below {{'tensor.insert_slice' cannot be cut into tiles of shape 'tensor<2xf32>' in group 'g'}}
    %2 = tensor.insert_slice %a into %1[4] [4] [1] : tensor<4xf32> into tensor<8xf32>
    ark.yield %2 : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// -----

ark.program @reductionOfNoElements(
    %x: tensor<4x0xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x) attributes {tile = array<i64: 4>} : (tensor<4x0xf32>) -> tensor<4xf32> {
    // expected-error @below {{'ark.reduce_sum' in group 'g' reads a tensor without elements; ark-normalize-graph removes such ops}}
    %1 = ark.reduce_sum %a axes = [1] keepdims = false : (tensor<4x0xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @taskOnBuffers(
    %x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{task 't' works on buffers already; the tiling stage takes tensors}}
  ark.task "t" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>,
       %t1: memref<16xf32, strided<[1], offset: ?>>):
    %0 = memref.load %t0[%i] : memref<16xf32, strided<[1], offset: ?>>
    memref.store %0, %t1[%i] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}
