// RUN: ark-opt %s --ark-fuse-tasks --verify-diagnostics

// expected-error @below {{the module has no 'ark.target', which the cost of fused tasks depends on}}
ark.program @noTarget(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}
