// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// Each op reads the rows in their memory type, and no row passes between two ops.
// CHECK-LABEL: ark.program @gradientOfALayerNorm
ark.program @gradientOfALayerNorm(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "g"},
    %w: tensor<8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[G:.+]] = %{{.+}}, %[[W:.+]] = %{{.+}})
  // The mean of the row, then that of the slopes.
  // CHECK: %[[SUM:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[X]] : tensor<4x8xbf16>)
  // CHECK: %[[MEAN:.+]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[SUM]] :
  // CHECK: arith.divf %{{.+}}, %{{.+}} : f32
  // CHECK: %[[SLOPES:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[G]], %[[W]] : tensor<4x8xbf16>, tensor<8xbf16>)
  // CHECK: arith.mulf
  // CHECK: %[[SLOPE:.+]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[SLOPES]] :
  // CHECK: %[[SQUARES:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[X]], %[[MEAN]] :
  // CHECK: arith.subf
  // CHECK: %[[SCALE:.+]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[SQUARES]] :
  // CHECK: math.rsqrt
  // CHECK: %[[PRODUCTS:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[G]], %[[W]], %[[X]], %[[MEAN]] :
  // CHECK: %[[PROJECTION:.+]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[PRODUCTS]], %[[SCALE]] :
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[G]], %[[W]], %[[X]], %[[MEAN]], %[[SCALE]], %[[PROJECTION]], %[[SLOPE]] :
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %x, %b = %g, %c = %w)
      : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16> {
    %r = ark.norm_input_gradient %a, %b weight %c eps = 1.0e-5 {centred}
      : (tensor<4x8xbf16>, tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// Without a mean and a weight, there are two sums.
// CHECK-LABEL: ark.program @gradientOfAnRmsNorm
ark.program @gradientOfAnRmsNorm(
    %x: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "g"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[G:.+]] = %{{.+}})
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[X]] : tensor<2x4x8xf32>)
  // CHECK: %[[SCALE:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]}
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%[[G]], %[[X]] :
  // CHECK: %[[PROJECTION:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]}
  // CHECK-NOT: "reduction"
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[G]], %[[X]], %[[SCALE]], %[[PROJECTION]] :
  %0 = ark.group "g" (%a = %x, %b = %g)
      : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %r = ark.norm_input_gradient %a, %b eps = 1.0e-5 : (tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// The first column is the mean.
// CHECK-LABEL: ark.program @statisticsOfALayerNorm
ark.program @statisticsOfALayerNorm(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x2xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}})
  // CHECK: %[[MEAN:.+]] = linalg.generic {{.*}}iterator_types = ["parallel"]}
  // CHECK: %[[SCALE:.+]] = linalg.generic {{.*}}iterator_types = ["parallel"]}
  // CHECK: linalg.generic {{.*}} ins(%[[SCALE]], %[[MEAN]] : tensor<4xf32>, tensor<4xf32>) outs(%{{.+}} : tensor<4x2xf32>)
  // CHECK-NEXT: ^bb0(%[[S:.+]]: f32, %[[M:.+]]: f32, %{{.+}}: f32):
  // CHECK: %[[IS:.+]] = arith.cmpi eq, %{{.+}}, %{{.+}} : index
  // CHECK-NEXT: arith.select %[[IS]], %[[M]], %[[S]] : f32
  %0 = ark.group "g" (%a = %x) : (tensor<4x8xbf16>) -> tensor<4x2xf32> {
    %r = ark.norm_statistics %a eps = 1.0e-5 {centred} : (tensor<4x8xbf16>) -> tensor<4x2xf32>
    ark.yield %r : tensor<4x2xf32>
  }
  ark.return %0 : tensor<4x2xf32>
}

// CHECK-LABEL: ark.program @statisticsOfAnRmsNorm
ark.program @statisticsOfAnRmsNorm(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x1xf32> {ark.name = "y"}) {
  // CHECK: math.rsqrt
  // CHECK-NOT: arith.select
  // CHECK: ark.yield %{{.+}} : tensor<4x1xf32>
  %0 = ark.group "g" (%a = %x) : (tensor<4x8xf32>) -> tensor<4x1xf32> {
    %r = ark.norm_statistics %a eps = 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x1xf32>
    ark.yield %r : tensor<4x1xf32>
  }
  ark.return %0 : tensor<4x1xf32>
}

// A vector is one row: the map of a value per row has no results.
// CHECK-LABEL: ark.program @gradientOfTheNormOfAVector
ark.program @gradientOfTheNormOfAVector(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "g"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic {{.*}}affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]}
  %0 = ark.group "g" (%a = %x, %b = %g) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.norm_input_gradient %a, %b eps = 1.0e-5 {centred}
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}
