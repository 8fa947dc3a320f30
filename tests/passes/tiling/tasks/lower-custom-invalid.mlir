// RUN: ark-opt %s --ark-lower-custom --split-input-file --verify-diagnostics

ark.program @warps(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'g' has warps = 0 : i64; expected a positive number or a range [begin, end]}}
  %0 = ark.group "g" (%a = %x) attributes {plan = {warps = 0 : i64}}
      : (tensor<8xf32>) -> tensor<8xf32> {
    %1 = ark.custom grid [2] ins(%a[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
        out <(d0) -> (d0 * 4), [4]> {
    ^bb0(%i: index, %b: tensor<4xf32>, %o: tensor<4xf32>):
      ark.yield %b : tensor<4xf32>
    } : tensor<8xf32>
    ark.yield %1 : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}
