// RUN: ark-opt %s --split-input-file --verify-diagnostics --ark-order-microbatches

ark.program @negativeMicrobatch(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{plan names microbatch -1 : i64, which is not an integer from 0 to 2147483647}}
  %0 = ark.task "exp" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = -1 : i64}} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @stageOfText(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{plan names stage "first", which is not an integer from 0 to 2147483647}}
  %0 = ark.task "exp" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, stage = "first"}} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}

// -----

ark.program @directionOfANumber(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @below {{plan names backward 1 : i64, which is neither true nor false}}
  %0 = ark.task "exp" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = 1 : i64, microbatch = 0 : i64}} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}
