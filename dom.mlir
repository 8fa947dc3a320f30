module {
  ark.program @p(%arg0: tensor<1x3x5xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<f32> {ark.name = "o"}) {
    %0 = ark.transpose %arg0 perm = [2, 1, 0] : (tensor<1x3x5xf32>) -> tensor<5x3x1xf32>
    %1 = ark.reshape %0 shape = [1, 3, 5] : (tensor<5x3x1xf32>) -> tensor<1x3x5xf32>
    %2 = ark.add %1, %arg0 : (tensor<1x3x5xf32>, tensor<1x3x5xf32>) -> tensor<1x3x5xf32>
    %3 = ark.constant dense<0> : tensor<1xi64>
    %4 = ark.gather %2, %3 axis = 0 : (tensor<1x3x5xf32>, tensor<1xi64>) -> tensor<1x3x5xf32>
    %5 = ark.add %4, %2 : (tensor<1x3x5xf32>, tensor<1x3x5xf32>) -> tensor<1x3x5xf32>
    %6 = ark.reduce_sum %5 axes = [0, 1, 2] keepdims = false : (tensor<1x3x5xf32>) -> tensor<f32>
    ark.return %6 : tensor<f32>
  }
}
