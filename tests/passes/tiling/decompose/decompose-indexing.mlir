// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// The task reads the table in its own type, and converts only the rows that it selects.
// CHECK-LABEL: ark.program @embeddingChecksEveryIndexOnce
ark.program @embeddingChecksEveryIndexOnce(
    %i: tensor<2x3xi32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %w: tensor<100x8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2x3x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[I:.+]] = %{{.+}}, %[[W:.+]] = %{{.+}})
  // CHECK: %[[CHECKED:.+]] = linalg.generic {{.*}} ins(%[[I]] : tensor<2x3xi32>) outs(%{{.+}} : tensor<2x3xindex>)
  // CHECK: %[[INDEX:.+]] = arith.index_cast
  // CHECK: %[[ROWS:.+]] = arith.constant 100 : index
  // CHECK: ark.check_index %[[INDEX]] below %[[ROWS]]
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1)>, affine_map<(d0, d1, d2) -> (d0, d1, d2)>]
  // CHECK-SAME: ins(%[[CHECKED]] : tensor<2x3xindex>)
  // CHECK-NEXT: ^bb0(%[[ROW:.+]]: index,
  // CHECK: %[[COLUMN:.+]] = linalg.index 2
  // CHECK: %[[E:.+]] = tensor.extract %[[W]][%[[ROW]], %[[COLUMN]]] : tensor<100x8xbf16>
  // CHECK: arith.extf %[[E]] : bf16 to f32
  %0 = ark.group "g" (%a = %i, %b = %w)
      : (tensor<2x3xi32>, tensor<100x8xbf16>) -> tensor<2x3x8xbf16> {
    %r = ark.embedding %a, %b : (tensor<2x3xi32>, tensor<100x8xbf16>) -> tensor<2x3x8xbf16>
    ark.yield %r : tensor<2x3x8xbf16>
  }
  ark.return %0 : tensor<2x3x8xbf16>
}

// CHECK-LABEL: ark.program @dimensionsOfTheIndicesReplaceTheAxis
ark.program @dimensionsOfTheIndicesReplaceTheAxis(
    %x: tensor<4x100x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<2x3xi64> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<4x2x3x8xf32> {ark.name = "y"}) {
  // CHECK: arith.constant 100 : index
  // CHECK: ark.check_index
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
  // CHECK-NEXT: ^bb0(%[[ROW:.+]]: index,
  // CHECK: %[[BEFORE:.+]] = linalg.index 0
  // CHECK: %[[AFTER:.+]] = linalg.index 3
  // CHECK: tensor.extract %{{.+}}[%[[BEFORE]], %[[ROW]], %[[AFTER]]]
  %0 = ark.group "g" (%a = %x, %b = %i)
      : (tensor<4x100x8xf32>, tensor<2x3xi64>) -> tensor<4x2x3x8xf32> {
    %r = ark.gather %a, %b axis = 1 : (tensor<4x100x8xf32>, tensor<2x3xi64>) -> tensor<4x2x3x8xf32>
    ark.yield %r : tensor<4x2x3x8xf32>
  }
  ark.return %0 : tensor<4x2x3x8xf32>
}

// CHECK-LABEL: ark.program @gatherByOneIndexDropsTheAxis
ark.program @gatherByOneIndexDropsTheAxis(
    %x: tensor<4x100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "i"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>]
  // CHECK-NEXT: ^bb0(%[[COLUMN:.+]]: index,
  // CHECK: %[[ROW:.+]] = linalg.index 0
  // CHECK: tensor.extract %{{.+}}[%[[ROW]], %[[COLUMN]]]
  %0 = ark.group "g" (%a = %x, %b = %i)
      : (tensor<4x100xf32>, tensor<i32>) -> tensor<4xf32> {
    %r = ark.gather %a, %b axis = 1 : (tensor<4x100xf32>, tensor<i32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// The largest valid offset is 124. State and value keep their types.
// CHECK-LABEL: ark.program @updateAtARunTimeOffsetIsChecked
ark.program @updateAtARunTimeOffsetIsChecked(
    %s: tensor<2x128x8xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %v: tensor<2x4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<2x128x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[S:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}})
  // CHECK: %[[SCALAR:.+]] = tensor.extract %[[P]][]
  // CHECK: %[[INDEX:.+]] = arith.index_cast %[[SCALAR]]
  // CHECK: %[[BOUND:.+]] = arith.constant 125 : index
  // CHECK: %[[AT:.+]] = ark.check_index %[[INDEX]] below %[[BOUND]] {stores}
  // CHECK-NEXT: %[[R:.+]] = tensor.insert_slice %[[V]] into %[[S]][0, %[[AT]], 0] [2, 4, 8] [1, 1, 1]
  // CHECK-NEXT: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %s, %b = %v, %c = %p)
      : (tensor<2x128x8xbf16>, tensor<2x4x8xbf16>, tensor<i32>) -> tensor<2x128x8xbf16> {
    %r = ark.update %b into %a [0, %c, 0] : (tensor<2x128x8xbf16>, tensor<2x4x8xbf16>, tensor<i32>) -> tensor<2x128x8xbf16>
    ark.yield %r : tensor<2x128x8xbf16>
  }
  ark.return %0 : tensor<2x128x8xbf16>
}

// A vCTA writes to one sequence, at the offset of the sequence.
// CHECK-LABEL: ark.program @updateAtAnOffsetOfEachSequence
ark.program @updateAtAnOffsetOfEachSequence(
    %s: tensor<3x128x8xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %v: tensor<3x1x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %p: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<3x128x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[S:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}})
  // CHECK: %[[SEQUENCE:.+]] = ark.tile_offset 0
  // CHECK: %[[SCALAR:.+]] = tensor.extract %[[P]][%[[SEQUENCE]]]
  // CHECK: %[[INDEX:.+]] = arith.index_cast %[[SCALAR]]
  // CHECK: %[[BOUND:.+]] = arith.constant 128 : index
  // CHECK: %[[AT:.+]] = ark.check_index %[[INDEX]] below %[[BOUND]] sequence %[[SEQUENCE]] {stores}
  // CHECK-NEXT: tensor.insert_slice %[[V]] into %[[S]][0, %[[AT]], 0] [3, 1, 8] [1, 1, 1]
  %0 = ark.group "g" (%a = %s, %b = %v, %c = %p)
      : (tensor<3x128x8xbf16>, tensor<3x1x8xbf16>, tensor<3xi32>) -> tensor<3x128x8xbf16> {
    %r = ark.update %b into %a [0, %c, 0] : (tensor<3x128x8xbf16>, tensor<3x1x8xbf16>, tensor<3xi32>) -> tensor<3x128x8xbf16>
    ark.yield %r : tensor<3x128x8xbf16>
  }
  ark.return %0 : tensor<3x128x8xbf16>
}

// The row of a sequence is below the rows of the state, although the value has more sequences than rows.
// CHECK-LABEL: ark.program @updateOfTheRowOfEachSequence
ark.program @updateOfTheRowOfEachSequence(
    %s: tensor<2x128x8xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %v: tensor<3x1x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %p: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<2x128x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[S:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}}, %[[P:.+]] = %{{.+}})
  // CHECK: %[[SEQUENCE:.+]] = ark.tile_offset 0
  // CHECK: %[[SCALAR:.+]] = tensor.extract %[[P]][%[[SEQUENCE]]]
  // CHECK: %[[INDEX:.+]] = arith.index_cast %[[SCALAR]]
  // CHECK: %[[BOUND:.+]] = arith.constant 2 : index
  // CHECK: %[[ROW:.+]] = ark.check_index %[[INDEX]] below %[[BOUND]] sequence %[[SEQUENCE]] {stores}
  // CHECK: tensor.insert_slice %[[V]] into %[[S]][%[[ROW]], 5, 0] [3, 1, 8] [1, 1, 1]
  %0 = ark.group "g" (%a = %s, %b = %v, %c = %p)
      : (tensor<2x128x8xbf16>, tensor<3x1x8xbf16>, tensor<3xi32>) -> tensor<2x128x8xbf16> {
    %r = ark.update %b into %a [%c, 5, 0] : (tensor<2x128x8xbf16>, tensor<3x1x8xbf16>, tensor<3xi32>) -> tensor<2x128x8xbf16>
    ark.yield %r : tensor<2x128x8xbf16>
  }
  ark.return %0 : tensor<2x128x8xbf16>
}

// CHECK-LABEL: ark.program @updateRoundsTheResultOfItsPrologue
ark.program @updateRoundsTheResultOfItsPrologue(
    %s: tensor<4x8xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %v: tensor<2x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[S:.+]] = %{{.+}}, %{{.+}} = %{{.+}})
  // CHECK: math.exp %{{.+}} : f32
  // CHECK: arith.truncf
  // CHECK: tensor.insert_slice %{{.+}} into %[[S]][1, 0] [2, 8] [1, 1] : tensor<2x8xbf16> into tensor<4x8xbf16>
  %0 = ark.group "g" (%a = %s, %b = %v)
      : (tensor<4x8xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16> {
    %1 = ark.exp %b : (tensor<2x8xbf16>) -> tensor<2x8xbf16>
    %r = ark.update %1 into %a [1, 0] : (tensor<4x8xbf16>, tensor<2x8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// An insertion of all elements would fold to the inserted value.
// CHECK-LABEL: ark.program @updateOfAllOfAStateIsACopy
ark.program @updateOfAllOfAStateIsACopy(
    %s: tensor<4x8xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %v: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"}) {
  // CHECK: ark.group "g" (%[[S:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}})
  // CHECK-NEXT: %[[R:.+]] = linalg.copy ins(%[[V]] : tensor<4x8xbf16>) outs(%[[S]] : tensor<4x8xbf16>)
  // CHECK-NEXT: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %s, %b = %v)
      : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16> {
    %r = ark.update %b into %a [0, 0] : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ark.yield %r : tensor<4x8xbf16>
  }
  ark.return
}

// A concat computes nothing, so it converts nothing.
// CHECK-LABEL: ark.program @concatInsertsItsOperands
ark.program @concatInsertsItsOperands(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<4x2xbf16> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<4x18xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[Z:.+]] = %{{.+}})
  // CHECK-NEXT: %[[E:.+]] = tensor.empty() : tensor<4x18xbf16>
  // CHECK-NEXT: %[[A:.+]] = tensor.insert_slice %[[X]] into %[[E]][0, 0] [4, 8] [1, 1]
  // CHECK-NEXT: %[[B:.+]] = tensor.insert_slice %[[Z]] into %[[A]][0, 8] [4, 2] [1, 1]
  // CHECK-NEXT: %[[C:.+]] = tensor.insert_slice %[[X]] into %[[B]][0, 10] [4, 8] [1, 1]
  // CHECK-NEXT: ark.yield %[[C]]
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<4x8xbf16>, tensor<4x2xbf16>) -> tensor<4x18xbf16> {
    %r = ark.concat %a, %b, %a axis = 1 : (tensor<4x8xbf16>, tensor<4x2xbf16>, tensor<4x8xbf16>) -> tensor<4x18xbf16>
    ark.yield %r : tensor<4x18xbf16>
  }
  ark.return %0 : tensor<4x18xbf16>
}

// A copy: bf16 stays bf16. The windows begin at every second element.
// CHECK-LABEL: ark.program @windowsReadSumsOfTwoPositions
ark.program @windowsReadSumsOfTwoPositions(
    %x: tensor<4x9x7xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x3x2x4x6xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}})
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d3 * 2 + d1, d2 + d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>]
  // CHECK-SAME: ins(%[[X]] : tensor<4x9x7xbf16>)
  // CHECK-NEXT: ^bb0(%[[E:.+]]: bf16, %{{.+}}: bf16):
  // CHECK-NEXT: linalg.yield %[[E]] : bf16
  %0 = ark.group "g" (%a = %x) : (tensor<4x9x7xbf16>) -> tensor<4x3x2x4x6xbf16> {
    %r = ark.windows %a sizes = [3, 2] strides = [2, 1] dilations = [1, 1]
      : (tensor<4x9x7xbf16>) -> tensor<4x3x2x4x6xbf16>
    ark.yield %r : tensor<4x3x2x4x6xbf16>
  }
  ark.return %0 : tensor<4x3x2x4x6xbf16>
}
