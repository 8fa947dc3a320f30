// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s
// RUN: ark-opt %s --ark-assign-target=target=cpu:2 --ark-select-tiles | FileCheck %s --check-prefix=CPU

// The statistics of a norm have the rows of the gradient that reads the same tensor, so that the tasks can be fused.
// By bytes alone, a tile of statistics has 16 rows.
// CHECK-LABEL: ark.program @equalRows
// CPU-LABEL: ark.program @equalRows
ark.program @equalRows(%x: tensor<16384x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<16384x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "g"},
    %z: tensor<16384x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<16384x768xbf16> {ark.name = "y"}, tensor<16384x2xf32> {ark.name = "s"}, tensor<16384x2xf32> {ark.name = "t"}) {
  // CHECK: ark.group "gradient" {{.*}}tile = array<i64: 8, 768>
  // CPU: ark.group "gradient" {{.*}}tile = array<i64: {{.+}}, 768>
  %0 = ark.group "gradient" (%a = %x, %b = %g) : (tensor<16384x768xbf16>, tensor<16384x768xbf16>) -> tensor<16384x768xbf16> {
    %r = ark.norm_input_gradient %a, %b eps = 1.0e-5 {centred} : (tensor<16384x768xbf16>, tensor<16384x768xbf16>) -> tensor<16384x768xbf16>
    ark.yield %r : tensor<16384x768xbf16>
  }
  // CHECK: ark.group "statistics" {{.*}}tile = array<i64: 8, 2>
  // CPU: ark.group "statistics" {{.*}}tile = array<i64: {{.+}}, 2>
  %1 = ark.group "statistics" (%a = %x) : (tensor<16384x768xbf16>) -> tensor<16384x2xf32> {
    %r = ark.norm_statistics %a eps = 1.0e-5 {centred} : (tensor<16384x768xbf16>) -> tensor<16384x2xf32>
    ark.yield %r : tensor<16384x2xf32>
  }
  // The statistics of another tensor keep their tile.
  // CHECK: ark.group "others" {{.*}}tile = array<i64: 16, 2>
  %2 = ark.group "others" (%a = %z) : (tensor<16384x768xbf16>) -> tensor<16384x2xf32> {
    %r = ark.norm_statistics %a eps = 1.0e-5 {centred} : (tensor<16384x768xbf16>) -> tensor<16384x2xf32>
    ark.yield %r : tensor<16384x2xf32>
  }
  ark.return %0, %1, %2 : tensor<16384x768xbf16>, tensor<16384x2xf32>, tensor<16384x2xf32>
}

// A tile of columns fills a sector with elements of the tensors in memory: 16 of bf16, and 8 of f32.
// CHECK-LABEL: ark.program @sectorsOfColumns
ark.program @sectorsOfColumns(%x: tensor<1024x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<1024x768xf32> {ark.kind = #ark.kind<input>, ark.name = "g"})
    -> (tensor<768xf32> {ark.name = "y"}, tensor<768xf32> {ark.name = "z"}) {
  // CHECK: ark.group "narrow" {{.*}}tile = array<i64: 16>
  %0 = ark.group "narrow" (%a = %x) : (tensor<1024x768xbf16>) -> tensor<768xf32> {
    %c = ark.cast %a to f32 : (tensor<1024x768xbf16>) -> tensor<1024x768xf32>
    %r = ark.reduce_sum %c axes = [0] keepdims = false : (tensor<1024x768xf32>) -> tensor<768xf32>
    ark.yield %r : tensor<768xf32>
  }
  // CHECK: ark.group "wide" {{.*}}tile = array<i64: 8>
  %1 = ark.group "wide" (%a = %g) : (tensor<1024x768xf32>) -> tensor<768xf32> {
    %r = ark.reduce_sum %a axes = [0] keepdims = false : (tensor<1024x768xf32>) -> tensor<768xf32>
    ark.yield %r : tensor<768xf32>
  }
  ark.return %0, %1 : tensor<768xf32>, tensor<768xf32>
}
