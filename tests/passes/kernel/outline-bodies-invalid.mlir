// RUN: ark-opt %s --split-input-file --ark-outline-bodies --verify-diagnostics -o /dev/null

ark.program @taskOnTensors(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<16xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<16xf32>
  // expected-error @below {{works on tensors: the memory stage comes before the kernel stage}}
  %0 = ark.task "copy" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      outs(%e[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>) {
  ^bb0(%i: index, %a: tensor<16xf32>, %b: tensor<16xf32>):
    ark.yield %a : tensor<16xf32>
  } : tensor<16xf32>
  ark.return %0 : tensor<16xf32>
}

// -----

ark.program @viewAtAnUnknownOffset(%n: memref<i64> {ark.kind = #ark.kind<scalar>, ark.name = "n"}) {
  %arena = ark.arena : memref<256xi8>
  %value = memref.load %n[] : memref<i64>
  %offset = arith.index_cast %value : i64 to index
  // expected-error @below {{lies at an offset that is not constant}}
  %0 = memref.view %arena[%offset][] : memref<256xi8> to memref<4xf32>
  ark.task "t" grid [1] ins() outs(%0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @tileWithOtherStrides(%x: memref<8x8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-error @below {{tile 'memref<4x8xf32, strided<[1, 8], offset: ?>>' of operand 0 has other strides than the operand's view 'memref<4x8xf32, strided<[8, 1], offset: ?>>'}}
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4, 0), [4, 8]>] : memref<8x8xf32>) {
  ^bb0(%i: index, %a: memref<4x8xf32, strided<[1, 8], offset: ?>>):
    ark.yield
  }
  ark.return
}
