// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: ark.program @halvesAreRotatedAsPairs
ark.program @halvesAreRotatedAsPairs(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %cos: tensor<4x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "cos"},
    %sin: tensor<4x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "sin"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[C:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}})
  // CHECK: %[[A:.+]] = tensor.extract_slice %[[X]][0, 0] [4, 4] [1, 1]
  // CHECK: %[[B:.+]] = tensor.extract_slice %[[X]][0, 4] [4, 4] [1, 1]
  // CHECK: tensor.extract_slice %{{.+}}[0, 0] [4, 4] [1, 1]
  // CHECK: %[[FIRST:.+]] = linalg.generic {{.*}} ins(%[[A]], %[[B]], %[[C]], %[[S]] :
  // CHECK-NEXT: ^bb0(%[[AE:.+]]: f32, %[[BE:.+]]: f32, %[[CE:.+]]: f32, %[[SE:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: %[[P:.+]] = arith.mulf %[[AE]], %[[CE]]
  // CHECK-NEXT: %[[Q:.+]] = arith.mulf %[[BE]], %[[SE]]
  // CHECK-NEXT: arith.subf %[[P]], %[[Q]]
  // CHECK: %[[HALF:.+]] = tensor.insert_slice %[[FIRST]] into %{{.+}}[0, 0] [4, 4] [1, 1]
  // CHECK: tensor.extract_slice %[[HALF]][0, 4] [4, 4] [1, 1]
  // CHECK: %[[SECOND:.+]] = linalg.generic {{.*}} ins(%[[B]], %[[A]], %[[C]], %[[S]] :
  // CHECK: arith.addf
  // CHECK: %[[R:.+]] = tensor.insert_slice %[[SECOND]] into %[[HALF]][0, 4] [4, 4] [1, 1]
  // CHECK: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %x, %b = %cos, %c = %sin)
      : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32> {
    %r = ark.rope %a, %b, %c : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @neighboursAreRotatedAsPairs
ark.program @neighboursAreRotatedAsPairs(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %cos: tensor<4x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "cos"},
    %sin: tensor<4x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "sin"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[C:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}})
  // CHECK: %[[A:.+]] = tensor.extract_slice %[[X]][0, 0] [4, 4] [1, 2]
  // CHECK: %[[B:.+]] = tensor.extract_slice %[[X]][0, 1] [4, 4] [1, 2]
  // CHECK: tensor.extract_slice %{{.+}}[0, 0] [4, 4] [1, 2]
  // CHECK: %[[FIRST:.+]] = linalg.generic {{.*}} ins(%[[A]], %[[B]], %[[C]], %[[S]] :
  // CHECK-NEXT: ^bb0(%[[AE:.+]]: f32, %[[BE:.+]]: f32, %[[CE:.+]]: f32, %[[SE:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: %[[P:.+]] = arith.mulf %[[AE]], %[[CE]]
  // CHECK-NEXT: %[[Q:.+]] = arith.mulf %[[BE]], %[[SE]]
  // CHECK-NEXT: arith.subf %[[P]], %[[Q]]
  // CHECK: %[[HALF:.+]] = tensor.insert_slice %[[FIRST]] into %{{.+}}[0, 0] [4, 4] [1, 2]
  // CHECK: tensor.extract_slice %[[HALF]][0, 1] [4, 4] [1, 2]
  // CHECK: %[[SECOND:.+]] = linalg.generic {{.*}} ins(%[[B]], %[[A]], %[[C]], %[[S]] :
  // CHECK: arith.addf
  // CHECK: %[[R:.+]] = tensor.insert_slice %[[SECOND]] into %[[HALF]][0, 1] [4, 4] [1, 2]
  // CHECK: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %x, %b = %cos, %c = %sin)
      : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32> {
    %r = ark.rope %a, %b, %c {interleaved} : (tensor<4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @anglesBroadcastOverHeads
ark.program @anglesBroadcastOverHeads(
    %x: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %cos: tensor<4x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "cos"},
    %sin: tensor<4x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "sin"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>,
  %0 = ark.group "g" (%a = %x, %b = %cos, %c = %sin)
      : (tensor<2x4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x8xf32> {
    %r = ark.rope %a, %b, %c : (tensor<2x4x8xf32>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: ark.program @narrowOperandIsConvertedInTheLoop
ark.program @narrowOperandIsConvertedInTheLoop(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %cos: tensor<4x4xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "cos"},
    %sin: tensor<4x4xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "sin"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK: tensor.extract_slice %{{.+}} : tensor<4x8xbf16> to tensor<4x4xbf16>
  // CHECK: linalg.generic {{.*}} outs(%{{.+}} : tensor<4x4xbf16>)
  // CHECK: arith.extf
  // CHECK: arith.subf %{{.+}} : f32
  // CHECK-NEXT: arith.truncf
  // CHECK: arith.addf %{{.+}} : f32
  // CHECK-NEXT: arith.truncf
  %0 = ark.group "g" (%a = %x, %b = %cos, %c = %sin)
      : (tensor<4x8xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x8xbf16> {
    %r = ark.rope %a, %b, %c : (tensor<4x8xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// CHECK-LABEL: ark.program @epilogueReadsTheWideRotation
ark.program @epilogueReadsTheWideRotation(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %cos: tensor<4x4xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "cos"},
    %sin: tensor<4x4xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "sin"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK-NOT: arith.truncf
  // CHECK: tensor.insert_slice {{.*}} into tensor<4x8xf32>
  // CHECK-NOT: arith.truncf
  // CHECK: math.exp
  // CHECK: arith.truncf
  %0 = ark.group "g" (%a = %x, %b = %cos, %c = %sin)
      : (tensor<4x8xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x8xbf16> {
    %1 = ark.rope %a, %b, %c : (tensor<4x8xbf16>, tensor<4x4xbf16>, tensor<4x4xbf16>) -> tensor<4x8xbf16>
    %r = ark.exp %1 : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// An extent of one needs no step.
// CHECK-LABEL: ark.program @onePairHasNoSteps
ark.program @onePairHasNoSteps(
    %x: tensor<2x3x2xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %cos: tensor<1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "cos"},
    %sin: tensor<1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "sin"})
    -> (tensor<2x3x2xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[C:.+]] = %{{.+}}, %[[S:.+]] = %{{.+}})
  // CHECK: tensor.extract_slice %[[X]][0, 0, 0] [2, 3, 1] [1, 1, 1]
  // CHECK: tensor.extract_slice %[[X]][0, 0, 1] [2, 3, 1] [1, 1, 1]
  // CHECK: tensor.insert_slice %{{.+}}[0, 0, 0] [2, 3, 1] [1, 1, 1]
  // CHECK: tensor.insert_slice %{{.+}}[0, 0, 1] [2, 3, 1] [1, 1, 1]
  %0 = ark.group "g" (%a = %x, %b = %cos, %c = %sin)
      : (tensor<2x3x2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x2xf32> {
    %r = ark.rope %a, %b, %c {interleaved} : (tensor<2x3x2xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x3x2xf32>
    ark.yield %r : tensor<2x3x2xf32>
  }
  ark.return %0 : tensor<2x3x2xf32>
}
