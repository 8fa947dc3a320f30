// RUN: not ark-opt %s --ark-compile-to=graph 2>&1 | FileCheck %s
// CHECK: error: the module has no ark.program, so there is nothing to compile: its programs are in a nested module, which is a separate input
module {
  module {
    ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
        -> (tensor<4xf32> {ark.name = "y"}) {
      %0 = ark.exp %x : (tensor<4xf32>) -> tensor<4xf32>
      ark.return %0 : tensor<4xf32>
    }
  }
}
