// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s
// RUN: ark-opt %s --ark-assign-target=target=cpu:16 --ark-select-tiles | FileCheck %s --check-prefix=CPU
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-select-tiles | FileCheck %s --check-prefix=A100

// One vCTA computes all rows, and each vCTA of both products repeats it. On a cpu a tile has one row.
// CHECK-LABEL: ark.program @fewRows
// CHECK: ark.group "norm"{{.*}}tile = array<i64: 8, 2048>
// CPU-LABEL: ark.program @fewRows
// CPU: ark.group "norm"{{.*}}tile = array<i64: 1, 2048>
ark.program @fewRows(
    %x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8192x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<8192x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<8x8192xbf16> {ark.name = "y0"}, tensor<8x8192xbf16> {ark.name = "y1"}) {
  %0 = ark.group "norm" (%a = %x) : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-5 : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16>
    ark.yield %r : tensor<8x2048xbf16>
  }
  %1 = ark.group "gate" (%a = %0, %b = %w) : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16>
    ark.yield %r : tensor<8x8192xbf16>
  }
  %2 = ark.group "up" (%a = %0, %b = %v) : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16>
    ark.yield %r : tensor<8x8192xbf16>
  }
  ark.return %1, %2 : tensor<8x8192xbf16>, tensor<8x8192xbf16>
}

// These tiles stay: more rows than warps; rows that exceed the memory of an SM; a reader that
// is not a product; products with different tiles; a plan of the user for the norm.
// CHECK-LABEL: ark.program @leftAlone
// CHECK: ark.group "many"{{.*}}tile = array<i64: 1, 512>
// CHECK: ark.group "long"{{.*}}tile = array<i64: 1, 8192>
// CHECK: ark.group "read"{{.*}}tile = array<i64: 1, 2048>
// CHECK: ark.group "uneven"{{.*}}tile = array<i64: 1, 2048>
// CHECK: ark.group "planned"{{.*}}tile = array<i64: 2, 2048>
ark.program @leftAlone(
    %x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %x20: tensor<20x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x20"},
    %x8k: tensor<8x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x8k"},
    %w: tensor<8192x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<8192x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %u: tensor<2048x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "u"},
    %small: tensor<48x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "small"})
    -> (tensor<20x8192xbf16> {ark.name = "y0"}, tensor<8x2048xbf16> {ark.name = "y1"},
        tensor<8x8192xbf16> {ark.name = "y2"}, tensor<8xbf16> {ark.name = "y3"},
        tensor<8x8192xbf16> {ark.name = "y4"}, tensor<8x48xbf16> {ark.name = "y5"},
        tensor<8x8192xbf16> {ark.name = "y6"}) {
  %0 = ark.group "many" (%a = %x20) : (tensor<20x512xbf16>) -> tensor<20x512xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-5 : (tensor<20x512xbf16>) -> tensor<20x512xbf16>
    ark.yield %r : tensor<20x512xbf16>
  }
  %1 = ark.group "p0" (%a = %0, %b = %v) : (tensor<20x512xbf16>, tensor<8192x512xbf16>) -> tensor<20x8192xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<20x512xbf16>, tensor<8192x512xbf16>) -> tensor<20x8192xbf16>
    ark.yield %r : tensor<20x8192xbf16>
  }
  %2 = ark.group "long" (%a = %x8k) : (tensor<8x8192xbf16>) -> tensor<8x8192xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-5 : (tensor<8x8192xbf16>) -> tensor<8x8192xbf16>
    ark.yield %r : tensor<8x8192xbf16>
  }
  %3 = ark.group "p1" (%a = %2, %b = %u) : (tensor<8x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<8x2048xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<8x2048xbf16>
    ark.yield %r : tensor<8x2048xbf16>
  }
  %4 = ark.group "read" (%a = %x) : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-5 : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16>
    ark.yield %r : tensor<8x2048xbf16>
  }
  %5 = ark.group "p2" (%a = %4, %b = %w) : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16>
    ark.yield %r : tensor<8x8192xbf16>
  }
  %6 = ark.group "sum" (%a = %4) : (tensor<8x2048xbf16>) -> tensor<8xbf16> {
    %r = ark.reduce_sum %a axes = [1] keepdims = false : (tensor<8x2048xbf16>) -> tensor<8xbf16>
    ark.yield %r : tensor<8xbf16>
  }
  %7 = ark.group "uneven" (%a = %x) : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-5 : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16>
    ark.yield %r : tensor<8x2048xbf16>
  }
  %8 = ark.group "p3" (%a = %7, %b = %w) : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16>
    ark.yield %r : tensor<8x8192xbf16>
  }
  %9 = ark.group "p4" (%a = %7, %b = %small) : (tensor<8x2048xbf16>, tensor<48x2048xbf16>) -> tensor<8x48xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<48x2048xbf16>) -> tensor<8x48xbf16>
    ark.yield %r : tensor<8x48xbf16>
  }
  %10 = ark.group "planned" (%a = %x) attributes {plan = {tile = [2, 2048]}} : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16> {
    %r = ark.rmsnorm %a eps = 1.0e-5 : (tensor<8x2048xbf16>) -> tensor<8x2048xbf16>
    ark.yield %r : tensor<8x2048xbf16>
  }
  %11 = ark.group "p5" (%a = %10, %b = %w) : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16>
    ark.yield %r : tensor<8x8192xbf16>
  }
  ark.return %1, %3, %5, %6, %8, %9, %11 : tensor<20x8192xbf16>, tensor<8x2048xbf16>, tensor<8x8192xbf16>, tensor<8xbf16>, tensor<8x8192xbf16>, tensor<8x48xbf16>, tensor<8x8192xbf16>
}

// On 132 SMs, shares of tiles with 48 columns differ by 4 %, and with 64 columns by 5 %. On 108 SMs, 2048 columns
// have such equal shares only in tiles too small for matrix units: tiles of 24 columns finish earlier.
// CHECK-LABEL: ark.program @shares
// CHECK: ark.group "head"{{.*}}tile = array<i64: 8, 48>
// CHECK: ark.group "small"{{.*}}tile = array<i64: 8, 16>
// A100-LABEL: ark.program @shares
// A100: ark.group "small"{{.*}}tile = array<i64: 8, 24>
ark.program @shares(
    %x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<128256x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<2048x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<8x128256xbf16> {ark.name = "y0"}, tensor<8x2048xbf16> {ark.name = "y1"}) {
  %0 = ark.group "head" (%a = %x, %b = %w) : (tensor<8x2048xbf16>, tensor<128256x2048xbf16>) -> tensor<8x128256xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<128256x2048xbf16>) -> tensor<8x128256xbf16>
    ark.yield %r : tensor<8x128256xbf16>
  }
  %1 = ark.group "small" (%a = %x, %b = %v) : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16> {
    %r = ark.matmul %a, %b {transpose_other} : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16>
    ark.yield %r : tensor<8x2048xbf16>
  }
  ark.return %0, %1 : tensor<8x128256xbf16>, tensor<8x2048xbf16>
}

// The tiles of sums of long columns have the columns of a memory sector; those of short columns, and
// of rows, may be narrower.
// CHECK-LABEL: ark.program @columns
// CHECK: ark.group "long"{{.*}}tile = array<i64: 8>
// CHECK: ark.group "short"{{.*}}tile = array<i64: 4>
// CPU-LABEL: ark.program @columns
// CPU: ark.group "long"{{.*}}tile = array<i64: 6>
ark.program @columns(
    %x: tensor<2x512x768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<255x768xf32> {ark.kind = #ark.kind<input>, ark.name = "y"})
    -> (tensor<768xf32> {ark.name = "long"}, tensor<768xf32> {ark.name = "short"}) {
  %0 = ark.group "long" (%a = %x) : (tensor<2x512x768xf32>) -> tensor<768xf32> {
    %r = ark.reduce_sum %a axes = [0, 1] keepdims = false : (tensor<2x512x768xf32>) -> tensor<768xf32>
    ark.yield %r : tensor<768xf32>
  }
  %1 = ark.group "short" (%a = %y) : (tensor<255x768xf32>) -> tensor<768xf32> {
    %r = ark.reduce_sum %a axes = [0] keepdims = false : (tensor<255x768xf32>) -> tensor<768xf32>
    ark.yield %r : tensor<768xf32>
  }
  ark.return %0, %1 : tensor<768xf32>, tensor<768xf32>
}
