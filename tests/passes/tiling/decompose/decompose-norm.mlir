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

// The weight and the bias are part of the epilogue.
// CHECK-LABEL: ark.program @layernormIsOneOp
ark.program @layernormIsOneOp(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "g"},
    %bias: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "bias"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[G:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}})
  // CHECK: %[[Y:.+]]:3 = ark.row_norm ins(%[[X]], %[[G]], %[[B]] : {{.*}} outs(%{{.+}} : tensor<4x8xf32>) mean(%{{.+}} : tensor<4xf32>) scale(%{{.+}} : tensor<4xf32>) eps = 1.000000e-05
  // CHECK-SAME: maps [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0)>] prologue {
  // CHECK-NEXT: ^bb0(%[[XE:.+]]: f32, %{{.+}}: f32, %{{.+}}: f32):
  // CHECK-NEXT: ark.yield %[[XE]]
  // CHECK: ^bb0(%[[N:.+]]: f32, %{{.+}}: f32, %[[GE:.+]]: f32, %[[BE:.+]]: f32):
  // CHECK-NEXT: %[[W:.+]] = arith.mulf %[[N]], %[[GE]]
  // CHECK-NEXT: %[[R:.+]] = arith.addf %[[W]], %[[BE]]
  // CHECK-NEXT: ark.yield %[[R]]
  // CHECK-NOT: linalg
  // CHECK: ark.yield %[[Y]]#0
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
  // CHECK: epilogue {
  // CHECK-NEXT: ^bb0(%[[N:.+]]: f32, %{{.+}}: f32, %[[B:.+]]: f32):
  // CHECK-NEXT: %[[R:.+]] = arith.addf %[[N]], %[[B]]
  // CHECK-NEXT: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %x, %b = %bias)
      : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    %r = ark.layernorm %a bias %b eps = 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// The op reads operands of a group in their memory types, and computes in f32. Another op converts the result.
// CHECK-LABEL: ark.program @rmsnormComputesInF32
ark.program @rmsnormComputesInF32(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %g: tensor<8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "g"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK-NOT: linalg
  // CHECK: %[[Y:.+]]:2 = ark.row_norm ins(%{{.+}}, %{{.+}} : tensor<4x8xbf16>, tensor<8xbf16>) outs(%{{.+}} : tensor<4x8xf32>) scale(%{{.+}} : tensor<4xf32>)
  // CHECK-NEXT: ^bb0(%[[XE:.+]]: bf16, %{{.+}}: bf16):
  // CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[XE]]
  // CHECK-NEXT: ark.yield %[[WIDE]] : f32
  // CHECK: ^bb0(%[[N:.+]]: f32, %{{.+}}: bf16, %[[GE:.+]]: bf16):
  // CHECK-NEXT: %[[G:.+]] = arith.extf %[[GE]]
  // CHECK-NEXT: arith.mulf %[[N]], %[[G]] : f32
  // CHECK: linalg.generic {{.*}} ins(%[[Y]]#0 :
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %x, %b = %g)
      : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16> {
    %r = ark.rmsnorm %a weight %b eps = 1.0e-5 : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// A vector is one row: the map of a value per row has no results.
// CHECK-LABEL: ark.program @layernormOfAVector
ark.program @layernormOfAVector(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.row_norm ins(%{{.+}} : tensor<8xf32>) outs(%{{.+}} : tensor<8xf32>)
  // CHECK-SAME: mean(%{{.+}} : tensor<f32>) scale(%{{.+}} : tensor<f32>)
  // CHECK-SAME: affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> ()>]
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.layernorm %a eps = 1.0e-5 : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}
