// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s
// RUN: ark-opt %s --ark-assign-target=target=cpu:2 --ark-select-tiles | FileCheck %s --check-prefix=CPU

// A chain of elementwise ops and sums of their rows gets the rows of the smallest tile, four here,
// so that its tasks can be fused. By its bytes alone, the sum would have eight rows.
// CHECK-LABEL: ark.program @chain
// CHECK: ark.group "square"
// CHECK-SAME: tile = array<i64: 4, 768>
// CHECK: ark.group "sum"
// CHECK-SAME: tile = array<i64: 4, 1>
// CHECK: ark.group "scale"
// CHECK-SAME: tile = array<i64: 4, 768>
// CHECK: ark.group "narrow"
// CHECK-SAME: tile = array<i64: 4, 768>
// CPU-LABEL: ark.program @chain
// CPU: ark.group "square"
// CPU-SAME: tile = array<i64: [[ROWS:[0-9]+]], 768>
// CPU: ark.group "sum"
// CPU-NOT: tile = array<i64: [[ROWS]], 1>
// CPU: ark.return
ark.program @chain(%x: tensor<4096x768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4096x768xbf16> {ark.name = "y"}) {
  %0 = ark.group "square" (%a = %x) : (tensor<4096x768xf32>) -> tensor<4096x768xf32> {
    %1 = ark.mul %a, %a : (tensor<4096x768xf32>, tensor<4096x768xf32>) -> tensor<4096x768xf32>
    ark.yield %1 : tensor<4096x768xf32>
  }
  %2 = ark.group "sum" (%a = %0) : (tensor<4096x768xf32>) -> tensor<4096x1xf32> {
    %3 = ark.reduce_sum %a axes = [1] keepdims = true : (tensor<4096x768xf32>) -> tensor<4096x1xf32>
    ark.yield %3 : tensor<4096x1xf32>
  }
  %4 = ark.group "scale" (%a = %0, %b = %2)
      : (tensor<4096x768xf32>, tensor<4096x1xf32>) -> tensor<4096x768xf32> {
    %5 = ark.mul %a, %b : (tensor<4096x768xf32>, tensor<4096x1xf32>) -> tensor<4096x768xf32>
    ark.yield %5 : tensor<4096x768xf32>
  }
  %6 = ark.group "narrow" (%a = %4) : (tensor<4096x768xf32>) -> tensor<4096x768xbf16> {
    %7 = ark.cast %a to bf16 : (tensor<4096x768xf32>) -> tensor<4096x768xbf16>
    ark.yield %7 : tensor<4096x768xbf16>
  }
  ark.return %6 : tensor<4096x768xbf16>
}
