// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: ark.program @operandsBroadcast
ark.program @operandsBroadcast(
    %x: tensor<4x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[A:.+]] = %{{.+}}, %[[B:.+]] = %{{.+}}) attributes {ops = ["add"]}
  // CHECK-NEXT: %[[E:.+]] = tensor.empty() : tensor<4x8xf32>
  // CHECK-NEXT: %[[R:.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, 0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
  // CHECK-SAME: ins(%[[A]], %[[B]] : tensor<4x1xf32>, tensor<8xf32>) outs(%[[E]] : tensor<4x8xf32>)
  // CHECK: arith.addf
  // CHECK: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
    %r = ark.add %a, %b : (tensor<4x1xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// A splat becomes a scalar of the compute type, and is not an operand.
// CHECK-LABEL: ark.program @splatIsAScalarOfTheBody
ark.program @splatIsAScalarOfTheBody(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK: linalg.generic {{.*}} ins(%{{[a-z0-9_]+}} : tensor<4x8xf32>)
  // CHECK-NEXT: ^bb0(%[[X:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: %[[C:.+]] = arith.constant 3.000000e+00 : f32
  // CHECK-NEXT: arith.mulf %[[X]], %[[C]] : f32
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xbf16>) -> tensor<4x8xbf16> {
    %c = ark.constant dense<3.0> : tensor<8xbf16>
    %r = ark.mul %a, %c : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: ark.program @splatThatAnAnchorReadsIsATensor
ark.program @splatThatAnAnchorReadsIsATensor(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x4xf32> {ark.name = "y"}) {
  // CHECK: %[[C:.+]] = arith.constant 3.000000e+00 : f32
  // CHECK: %[[FILL:.+]] = linalg.fill ins(%[[C]] : f32) outs(%{{.+}} : tensor<8x4xf32>)
  // CHECK: linalg.generic {{.*}} ins(%{{.+}}, %[[FILL]] :
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4x4xf32> {
    %c = ark.constant dense<3.0> : tensor<8x4xf32>
    %r = ark.matmul %a, %c : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    ark.yield %r : tensor<4x4xf32>
  }
  ark.return %0 : tensor<4x4xf32>
}

// Values are f32 between the ops, and converted at the operands and the result.
// CHECK-LABEL: ark.program @chainOfNarrowFloatsRoundsOnce
ark.program @chainOfNarrowFloatsRoundsOnce(
    %x: tensor<8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xbf16> {ark.name = "y"}) {
  // CHECK: attributes {ops = ["exp", "tanh"]}
  // CHECK: arith.extf %{{.+}} : bf16 to f32
  // CHECK-NOT: arith.truncf
  // CHECK: math.exp %{{.+}} : f32
  // CHECK-NOT: arith.truncf
  // CHECK: math.tanh %{{.+}} : f32
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  // CHECK: } -> tensor<8xbf16>
  // CHECK-NEXT: ark.yield
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xbf16>) -> tensor<8xbf16> {
    %1 = ark.exp %a : (tensor<8xbf16>) -> tensor<8xbf16>
    %r = ark.tanh %1 : (tensor<8xbf16>) -> tensor<8xbf16>
    ark.yield %r : tensor<8xbf16>
  }
  ark.return %0 : tensor<8xbf16>
}

// CHECK-LABEL: ark.program @eightBitFloatsAreSinglesInside
ark.program @eightBitFloatsAreSinglesInside(
    %x: tensor<8xf8E4M3FN> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf8E4M3FN> {ark.name = "y"}) {
  // CHECK: arith.extf %{{.+}} : f8E4M3FN to f32
  // CHECK: math.exp %{{.+}} : f32
  // CHECK: arith.truncf %{{.+}} : f32 to f8E4M3FN
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf8E4M3FN>) -> tensor<8xf8E4M3FN> {
    %1 = ark.cast %a to f32 : (tensor<8xf8E4M3FN>) -> tensor<8xf32>
    %2 = ark.exp %1 : (tensor<8xf32>) -> tensor<8xf32>
    %r = ark.cast %2 to f8E4M3FN : (tensor<8xf32>) -> tensor<8xf8E4M3FN>
    ark.yield %r : tensor<8xf8E4M3FN>
  }
  ark.return %0 : tensor<8xf8E4M3FN>
}

// CHECK-LABEL: ark.program @unsignedIntegersAreSignlessInside
ark.program @unsignedIntegersAreSignlessInside(
    %x: tensor<8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xui8> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xui8> {ark.name = "y"}) {
  // CHECK: builtin.unrealized_conversion_cast %{{.+}} : ui8 to i8
  // CHECK: arith.addi %{{.+}}, %{{.+}} : i8
  // CHECK: builtin.unrealized_conversion_cast %{{.+}} : i8 to ui8
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8> {
    %r = ark.add %a, %b : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
    ark.yield %r : tensor<8xui8>
  }
  ark.return %0 : tensor<8xui8>
}

// CHECK-LABEL: ark.program @scalarHasNoDimensions
ark.program @scalarHasNoDimensions(
    %x: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<f32> {ark.name = "y"}) {
  // CHECK: linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []} ins(%{{.+}} : tensor<f32>)
  %0 = ark.group "g" (%a = %x)
      : (tensor<f32>) -> tensor<f32> {
    %r = ark.exp %a : (tensor<f32>) -> tensor<f32>
    ark.yield %r : tensor<f32>
  }
  ark.return %0 : tensor<f32>
}
