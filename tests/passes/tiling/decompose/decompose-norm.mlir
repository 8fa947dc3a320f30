// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// Each row has one division.
// CHECK-LABEL: ark.program @softmaxSubtractsTheMaximum
ark.program @softmaxSubtractsTheMaximum(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}})
  // CHECK: arith.constant 0xFF800000
  // CHECK: %[[MAX:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[X]] :
  // CHECK: arith.maximumf
  // CHECK: %[[POWER:.+]] = linalg.generic {{.*}} ins(%[[X]], %[[MAX]] :
  // CHECK: arith.subf
  // CHECK-NEXT: math.exp
  // CHECK: %[[SUM:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%[[POWER]] :
  // CHECK: %[[INVERSE:.+]] = linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[SUM]] :
  // CHECK: arith.divf
  // CHECK: %[[R:.+]] = linalg.generic {{.*}} ins(%[[POWER]], %[[INVERSE]] :
  // CHECK: arith.mulf
  // CHECK: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %r = ark.softmax %a axis = 1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @softmaxOverAnOuterAxis
ark.program @softmaxOverAnOuterAxis(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK: affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
  // CHECK: math.exp %{{.+}} : f32
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xbf16>) -> tensor<4x8xbf16> {
    %r = ark.softmax %a axis = 0 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: ark.program @layernormCentresBeforeItSquares
ark.program @layernormCentresBeforeItSquares(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %bias: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "bias"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[G:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}})
  // CHECK: %[[SUM:.+]] = linalg.generic {{.*}} ins(%[[X]] : tensor<4x8xf32>) outs(%{{.+}} : tensor<4xf32>)
  // CHECK: %[[MEAN:.+]] = linalg.generic {{.*}} ins(%[[SUM]] :
  // CHECK: arith.constant 8.000000e+00 : f32
  // CHECK-NEXT: arith.divf
  // CHECK: linalg.generic {{.*}} ins(%[[X]], %[[MEAN]] :
  // CHECK: %[[CENTRED:.+]] = arith.subf
  // CHECK-NEXT: arith.mulf %[[CENTRED]], %[[CENTRED]]
  // CHECK: arith.constant 8.000000e+00 : f32
  // CHECK: %[[VARIANCE:.+]] = arith.divf
  // CHECK: %[[EPS:.+]] = arith.constant 9.99999974E-6 : f32
  // CHECK: %[[SHIFTED:.+]] = arith.addf %[[VARIANCE]], %[[EPS]]
  // CHECK: math.rsqrt %[[SHIFTED]]
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>,
  // CHECK-SAME: ins(%[[X]], %[[MEAN]], %{{.+}}, %[[G]], %[[B]] :
  // CHECK-NEXT: ^bb0(%[[XE:.+]]: f32, %[[ME:.+]]: f32, %[[SE:.+]]: f32, %[[GE:.+]]: f32, %[[BE:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: %[[C:.+]] = arith.subf %[[XE]], %[[ME]]
  // CHECK-NEXT: %[[N:.+]] = arith.mulf %[[C]], %[[SE]]
  // CHECK-NEXT: %[[W:.+]] = arith.mulf %[[N]], %[[GE]]
  // CHECK-NEXT: arith.addf %[[W]], %[[BE]]
  %0 = ark.group "g" (%a = %x, %b = %g, %c = %bias)
      : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    %r = ark.layernorm %a weight %b bias %c eps = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @layernormWithBiasAlone
ark.program @layernormWithBiasAlone(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %bias: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "bias"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: math.rsqrt
  // CHECK: ^bb0(%{{.+}}: f32, %{{.+}}: f32, %{{.+}}: f32, %[[B:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: arith.subf
  // CHECK-NEXT: %[[N:.+]] = arith.mulf
  // CHECK-NEXT: arith.addf %[[N]], %[[B]]
  // CHECK-NEXT: linalg.yield
  %0 = ark.group "g" (%a = %x, %b = %bias)
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    %r = ark.layernorm %a bias %b eps = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @rmsnormDoesNotCentre
ark.program @rmsnormDoesNotCentre(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK-NOT: arith.subf
  // CHECK: arith.mulf %[[X:.+]], %[[X]] : f32
  // CHECK: math.rsqrt %{{.+}} : f32
  // CHECK-NOT: arith.subf
  // CHECK: ^bb0(%[[XE:.+]]: f32, %[[SE:.+]]: f32, %[[GE:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: %[[N:.+]] = arith.mulf %[[XE]], %[[SE]]
  // CHECK-NEXT: arith.mulf %[[N]], %[[GE]]
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %x, %b = %g)
      : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16> {
    %r = ark.rmsnorm %a weight %b eps = 1.0e-5 : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}
