// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-bufferize-program,ark.task(ark-bufferize-bodies)))' --verify-diagnostics

ark.program @temporaryWithoutBound(%n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "t" grid [1] ins(%n[#ark.region<(d0) -> (), []>] : tensor<i32>) outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<i32>, %o: tensor<4xf32>):
    %zero = arith.constant 0.0 : f32
    %0 = tensor.extract %a[] : tensor<i32>
    %1 = arith.index_cast %0 : i32 to index
    // expected-error @below {{a temporary of type 'tensor<?xf32>' has no constant bound on its size}}
    %2 = tensor.empty(%1) : tensor<?xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%2 : tensor<?xf32>) -> tensor<?xf32>
    %4 = tensor.extract_slice %3[0] [4] [1] : tensor<?xf32> to tensor<4xf32>
    ark.yield %4 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @opThatCannotBeBufferized() -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "t" grid [1] ins() outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %o: tensor<4xf32>):
    // expected-error @below {{op was not bufferized}}
    %r = ark.relu %o : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

// MLIR's verifiers accept a `tensor.dim` of a dimension that does not exist; ValueBounds rejects it.
ark.program @dimensionThatDoesNotExist(%x: tensor<70xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<70xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<70xf32>
  %0 = ark.task "t" grid [3] ins(%x[#ark.region<(d0) -> (d0 * 32), [32]>] : tensor<70xf32>) outs(%e[#ark.region<(d0) -> (d0 * 32), [32]>] : tensor<70xf32>) {
  ^bb0(%i: index, %a: tensor<?xf32>, %o: tensor<?xf32>):
    %c = arith.constant 2147483648 : index
    // expected-error @below {{reads the extent of dimension 2147483648, which 'tensor<?xf32>' does not have}}
    %n = tensor.dim %a, %c : tensor<?xf32>
    %1 = tensor.empty(%n) : tensor<?xf32>
    %2 = linalg.copy ins(%a : tensor<?xf32>) outs(%1 : tensor<?xf32>) -> tensor<?xf32>
    %3 = linalg.copy ins(%2 : tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
    ark.yield %3 : tensor<?xf32>
  } : tensor<70xf32>
  ark.return %0 : tensor<70xf32>
}

// -----

ark.program @temporaryBelowZero(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %c = arith.constant -1 : index
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{a temporary of type 'tensor<?xf32>' has no constant bound on its size}}
    %1 = tensor.empty(%c) : tensor<?xf32>
    %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<?xf32>) -> tensor<?xf32>
    %3 = tensor.extract_slice %2[0] [4] [1] : tensor<?xf32> to tensor<4xf32>
    ark.yield %3 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @temporaryBeyondAllMemory(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %c = arith.constant 4611686018427387904 : index
    %zero = arith.constant 0.0 : f32
    // expected-error @below {{a temporary of type 'tensor<?xf32>' may take more than 2^47 bytes}}
    %1 = tensor.empty(%c) : tensor<?xf32>
    %2 = linalg.fill ins(%zero : f32) outs(%1 : tensor<?xf32>) -> tensor<?xf32>
    %3 = tensor.extract_slice %2[0] [4] [1] : tensor<?xf32> to tensor<4xf32>
    ark.yield %3 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}
