// RUN: ark-opt %s --ark-decompose --ark-fuse-elementwise --ark-tile-groups --ark-verify-tiling | FileCheck %s

// A tile reads two panels; the accumulator is the tile of the result.
// CHECK-LABEL: ark.program @matmulReadsPanels
ark.program @matmulReadsPanels(
    %x: tensor<64x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %b: tensor<32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "b"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  // CHECK: ark.task "fc" grid [4, 4]
  // CHECK-DAG: #ark.region<(d0, d1) -> (d0 * 16, 0), [16, 16]>] : tensor<64x16xf32>
  // CHECK-DAG: #ark.region<(d0, d1) -> (d1 * 8, 0), [8, 16]>] : tensor<32x16xf32>
  // CHECK-DAG: #ark.region<(d0, d1) -> (d1 * 8), [8]>] : tensor<32xf32>
  // CHECK-SAME: outs(%{{.+}}[#ark.region<(d0, d1) -> (d0 * 16, d1 * 8), [16, 8]>] : tensor<64x32xf32>)
  // CHECK: ^bb0({{.*}}, %[[O:[a-z0-9]+]]: tensor<16x8xf32>):
  // CHECK: %[[INIT:.+]] = linalg.fill ins(%{{.+}} : f32) outs(%[[O]] : tensor<16x8xf32>)
  // CHECK-NOT: tensor.empty
  // CHECK: ark.yield %{{.+}} : tensor<16x8xf32>
  %0 = ark.group "fc" (%a = %x, %c = %w, %d = %b) attributes {tile = array<i64: 16, 8>}
      : (tensor<64x16xf32>, tensor<32x16xf32>, tensor<32xf32>) -> tensor<64x32xf32> {
    %1 = ark.matmul %a, %c {transpose_other} : (tensor<64x16xf32>, tensor<32x16xf32>) -> tensor<64x32xf32>
    %2 = ark.add %1, %d : (tensor<64x32xf32>, tensor<32xf32>) -> tensor<64x32xf32>
    ark.yield %2 : tensor<64x32xf32>
  }
  ark.return %0 : tensor<64x32xf32>
}

// The last vCTA has 4 of 16 rows.
// CHECK-LABEL: ark.program @raggedExtentMakesDynamicTiles
ark.program @raggedExtentMakesDynamicTiles(
    %x: tensor<20x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<20x8xf32> {ark.name = "y"}) {
  // CHECK: ark.task "act" grid [2]
  // CHECK-SAME: ins(%{{.+}}[#ark.region<(d0) -> (d0 * 16, 0), [16, 8]>] : tensor<20x8xf32>)
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %[[A:.+]]: tensor<?x8xf32>, %[[O:.+]]: tensor<?x8xf32>):
  // CHECK: %[[R:.+]] = linalg.generic {{.*}} ins(%[[A]] : tensor<?x8xf32>) outs(%{{.+}} : tensor<?x8xf32>)
  // CHECK: ark.yield %{{.+}} : tensor<?x8xf32>
  %0 = ark.group "act" (%a = %x) attributes {tile = array<i64: 16, 8>} : (tensor<20x8xf32>) -> tensor<20x8xf32> {
    %1 = ark.exp %a : (tensor<20x8xf32>) -> tensor<20x8xf32>
    ark.yield %1 : tensor<20x8xf32>
  }
  ark.return %0 : tensor<20x8xf32>
}

// CHECK-LABEL: ark.program @dimensionsOfOneTileAreNotInTheGrid
ark.program @dimensionsOfOneTileAreNotInTheGrid(
    %x: tensor<4x8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8x16xf32> {ark.name = "y"}) {
  // CHECK: ark.task "act" grid [2, 4]
  // CHECK-SAME: #ark.region<(d0, d1) -> (d0 * 2, 0, d1 * 4), [2, 8, 4]>
  %0 = ark.group "act" (%a = %x) attributes {tile = array<i64: 2, 8, 4>} : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32> {
    %1 = ark.exp %a : (tensor<4x8x16xf32>) -> tensor<4x8x16xf32>
    ark.yield %1 : tensor<4x8x16xf32>
  }
  ark.return %0 : tensor<4x8x16xf32>
}

// CHECK-LABEL: ark.program @tileOfEverythingIsOneVCTA
ark.program @tileOfEverythingIsOneVCTA(
    %x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: ark.task "act" grid [1] ins(%{{.+}}[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>)
  %0 = ark.group "act" (%a = %x) attributes {tile = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32> {
    %1 = ark.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %1 : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// CHECK-LABEL: ark.program @reductionReadsWholeRows
ark.program @reductionReadsWholeRows(
    %x: tensor<8x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.task "sum" grid [4]
  // CHECK-SAME: ins(%{{.+}}[#ark.region<(d0) -> (d0 * 2, 0), [2, 32]>] : tensor<8x32xf32>)
  // CHECK-SAME: outs(%{{.+}}[#ark.region<(d0) -> (d0 * 2), [2]>] : tensor<8xf32>)
  %0 = ark.group "sum" (%a = %x) attributes {tile = array<i64: 2>} : (tensor<8x32xf32>) -> tensor<8xf32> {
    %1 = ark.reduce_sum %a axes = [1] keepdims = false : (tensor<8x32xf32>) -> tensor<8xf32>
    ark.yield %1 : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// CHECK-LABEL: ark.program @queryHeadReadsItsKeyHead
ark.program @queryHeadReadsItsKeyHead(
    %q: tensor<8x16x4xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x4xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<8x16x4xf32> {ark.name = "y"}) {
  // CHECK: ark.task "attention" grid [8, 2]
  // CHECK-DAG: #ark.region<(d0, d1) -> (d0, d1 * 8, 0), [1, 8, 4]>] : tensor<8x16x4xf32>
  // CHECK-DAG: #ark.region<(d0, d1) -> (d0 floordiv 4, 0, 0), [1, 32, 4]>] : tensor<2x32x4xf32>
  // CHECK: ^bb0(%{{.+}}: index, %[[BLOCK:.+]]: index,
  // All readers of the results share one attention, whose loop over the single head is gone. The causal mask
  // compares positions in the whole query. The tile has the keys that its last row attends to.
  // CHECK: affine.min #{{.+}}(%[[BLOCK]])
  // CHECK: ark.online_attention ins(%{{.+}} : tensor<8x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) outs(%{{.+}} : tensor<8x4xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8x?xf32>)
  // CHECK-NEXT: ^bb0(%[[ROW:.+]]: index, %{{.+}}: index, %{{.+}}: f32):
  // CHECK: affine.apply #{{.+}}(%[[BLOCK]])[%[[ROW]]]
  // CHECK-NOT: ark.online_attention
  // CHECK: ark.yield
  %0 = ark.group "attention" (%a = %q, %b = %k) attributes {tile = array<i64: 1, 8, 4>}
      : (tensor<8x16x4xf32>, tensor<2x32x4xf32>) -> tensor<8x16x4xf32> {
    %1 = ark.attention %a, %b, %b scale = 5.0e-1 {causal}
      : (tensor<8x16x4xf32>, tensor<2x32x4xf32>, tensor<2x32x4xf32>) -> tensor<8x16x4xf32>
    ark.yield %1 : tensor<8x16x4xf32>
  }
  ark.return %0 : tensor<8x16x4xf32>
}

// The number of keys is dynamic.
// CHECK-LABEL: ark.program @lengthDeclaresAllKeys
ark.program @lengthDeclaresAllKeys(
    %q: tensor<2x1x4xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x4xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<2x1x4xf32> {ark.name = "y"}) {
  // CHECK: ark.task "attention" grid [2]
  // CHECK-DAG: #ark.region<(d0) -> (d0, 0, 0), [1, 32, 4]>] : tensor<2x32x4xf32>
  // CHECK-DAG: #ark.region<(d0) -> (), []>] : tensor<i32>
  // CHECK: %[[LENGTH:.+]] = affine.min
  // CHECK: tensor.extract_slice %{{.+}} [{{.*}}%[[LENGTH]], 4]
  // CHECK: ark.yield
  %0 = ark.group "attention" (%a = %q, %b = %k, %c = %n) attributes {tile = array<i64: 1, 1, 4>}
      : (tensor<2x1x4xf32>, tensor<2x32x4xf32>, tensor<i32>) -> tensor<2x1x4xf32> {
    %1 = ark.attention %a, %b, %b kv_length %c scale = 5.0e-1
      : (tensor<2x1x4xf32>, tensor<2x32x4xf32>, tensor<2x32x4xf32>, tensor<i32>) -> tensor<2x1x4xf32>
    ark.yield %1 : tensor<2x1x4xf32>
  }
  ark.return %0 : tensor<2x1x4xf32>
}

// The index may select any row.
// CHECK-LABEL: ark.program @embeddingDeclaresAllOfItsTable
ark.program @embeddingDeclaresAllOfItsTable(
    %i: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %w: tensor<100x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<8x4xf32> {ark.name = "y"}) {
  // CHECK: ark.task "embedding" grid [4]
  // CHECK-DAG: #ark.region<(d0) -> (d0 * 2), [2]>] : tensor<8xi32>
  // CHECK-DAG: #ark.region<(d0) -> (0, 0), [100, 4]>] : tensor<100x4xf32>
  // CHECK: ark.check_index
  // CHECK: tensor.extract %{{.+}}[{{.*}}] : tensor<100x4xf32>
  %0 = ark.group "embedding" (%a = %i, %b = %w) attributes {tile = array<i64: 2, 4>}
      : (tensor<8xi32>, tensor<100x4xf32>) -> tensor<8x4xf32> {
    %1 = ark.embedding %a, %b : (tensor<8xi32>, tensor<100x4xf32>) -> tensor<8x4xf32>
    ark.yield %1 : tensor<8x4xf32>
  }
  ark.return %0 : tensor<8x4xf32>
}

// CHECK-LABEL: ark.program @updateWritesItsStateInPlace
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8x16xf32>
ark.program @updateWritesItsStateInPlace(
    %x: tensor<4x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<8x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // CHECK-NOT: tensor.empty
  // CHECK: ark.task "push" grid [2]
  // CHECK-SAME: ins(%{{.+}}[#ark.region<(d0) -> (d0 * 2, 0), [2, 16]>] : tensor<4x16xf32>)
  // CHECK-SAME: outs(%[[S]][#ark.region<(d0) -> (d0 * 2 + 3, 0), [2, 16]>] : tensor<8x16xf32>)
  // CHECK-SAME: in_place
  // CHECK: ark.yield %{{.+}} : tensor<2x16xf32>
  %0 = ark.group "push" (%a = %s, %b = %x) attributes {tile = array<i64: 2, 16>}
      : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32> {
    %1 = ark.update %b into %a [3, 0] : (tensor<8x16xf32>, tensor<4x16xf32>) -> tensor<8x16xf32>
    ark.yield %1 : tensor<8x16xf32>
  }
  ark.return
}

// CHECK-LABEL: ark.program @updateOfAllOfAStateWritesItToo
// CHECK-SAME: %[[S:[a-z0-9]+]]: tensor<8x16xf32>
ark.program @updateOfAllOfAStateWritesItToo(
    %s: tensor<8x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  // CHECK-NOT: tensor.empty
  // CHECK: ark.task "push" grid [3]
  // CHECK-SAME: ins(%{{[a-z0-9]+}}[#ark.region<(d0) -> (d0 * 3, 0), [3, 16]>] : tensor<8x16xf32>)
  // CHECK-SAME: outs(%[[S]][#ark.region<(d0) -> (d0 * 3, 0), [3, 16]>] : tensor<8x16xf32>)
  // CHECK-SAME: in_place
  %0 = ark.group "push" (%a = %s, %b = %x) attributes {tile = array<i64: 3, 16>}
      : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32> {
    %1 = ark.update %b into %a [0, 0] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    ark.yield %1 : tensor<8x16xf32>
  }
  ark.return
}

// The written rows are dynamic; columns are still tiled.
// CHECK-LABEL: ark.program @updateAtARunTimeOffsetDeclaresTheDimension
ark.program @updateAtARunTimeOffsetDeclaresTheDimension(
    %x: tensor<1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<8x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"}) {
  // CHECK: ark.task "push" grid [2]
  // CHECK-SAME: outs(%{{.+}}[#ark.region<(d0) -> (0, d0 * 8), [8, 8]>] : tensor<8x16xf32>)
  // CHECK-SAME: in_place
  // CHECK: %[[AT:.+]] = ark.check_index
  // CHECK: tensor.insert_slice {{.*}}[%[[AT]], 0] [1, 8] [1, 1]
  %0 = ark.group "push" (%a = %s, %b = %x, %c = %p) attributes {tile = array<i64: 1, 8>}
      : (tensor<8x16xf32>, tensor<1x16xf32>, tensor<i32>) -> tensor<8x16xf32> {
    %1 = ark.update %b into %a [%c, 0] : (tensor<8x16xf32>, tensor<1x16xf32>, tensor<i32>) -> tensor<8x16xf32>
    ark.yield %1 : tensor<8x16xf32>
  }
  ark.return
}

// Each vCTA writes the row of its sequence, whose number is not added to the row. The region covers all rows,
// so that vCTAs that may write one row are ordered.
// CHECK-LABEL: ark.program @rowOfEachSequenceIsNotShiftedByTheTile
ark.program @rowOfEachSequenceIsNotShiftedByTheTile(
    %x: tensor<3x1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<2x16x8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "p"}) {
  // CHECK: ark.task "push" grid [3]
  // CHECK-SAME: outs(%{{.+}}[#ark.region<(d0) -> (0, 5, 0), [2, 1, 8]>] : tensor<2x16x8xf32>)
  // CHECK-SAME: in_place
  // CHECK: %[[ROW:.+]] = ark.check_index %{{.+}} below %{{.+}} sequence %{{.+}} {stores}
  // CHECK: tensor.insert_slice {{.*}}[%[[ROW]], 0, 0] [1, 1, 8] [1, 1, 1]
  %0 = ark.group "push" (%a = %s, %b = %x, %c = %p) attributes {tile = array<i64: 1, 1, 8>}
      : (tensor<2x16x8xf32>, tensor<3x1x8xf32>, tensor<3xi32>) -> tensor<2x16x8xf32> {
    %1 = ark.update %b into %a [%c, 5, 0] : (tensor<2x16x8xf32>, tensor<3x1x8xf32>, tensor<3xi32>) -> tensor<2x16x8xf32>
    ark.yield %1 : tensor<2x16x8xf32>
  }
  ark.return
}

// A region of the longer state would not be clipped at the end of the value.
// CHECK-LABEL: ark.program @tilesOfAnUpdateDivideItsValue
ark.program @tilesOfAnUpdateDivideItsValue(
    %x: tensor<6xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // CHECK: ark.task "push" grid [2]
  // CHECK-SAME: outs(%{{.+}}[#ark.region<(d0) -> (d0 * 3), [3]>] : tensor<16xf32>)
  %0 = ark.group "push" (%a = %s, %b = %x) attributes {tile = array<i64: 4>}
      : (tensor<16xf32>, tensor<6xf32>) -> tensor<16xf32> {
    %1 = ark.update %b into %a [0] : (tensor<16xf32>, tensor<6xf32>) -> tensor<16xf32>
    ark.yield %1 : tensor<16xf32>
  }
  ark.return
}

// The task depends on the whole operand, although no vCTA reads it.
// CHECK-LABEL: ark.program @operandThatNothingReadsStays
ark.program @operandThatNothingReadsStays(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %d: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "d"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.task "act" grid [4]
  // CHECK-SAME: #ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>
  %0 = ark.group "act" (%a = %x, %b = %d) attributes {tile = array<i64: 2>}
      : (tensor<8xf32>, tensor<4x4xf32>) -> tensor<8xf32> {
    %1 = ark.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %1 : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// The plan has a number of warps, or a range of warps, whose length is the number.
// CHECK-LABEL: ark.program @planSetsTheWarps
ark.program @planSetsTheWarps(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}, tensor<8xf32> {ark.name = "z"}) {
  // CHECK: ark.task "number"
  // CHECK-SAME: warps = 4 : i64
  // CHECK: ark.task "range"
  // CHECK-SAME: warps = 6 : i64
  %0 = ark.group "number" (%a = %x) attributes {plan = {warps = 4 : i64}, tile = array<i64: 8>} : (tensor<8xf32>) -> tensor<8xf32> {
    %1 = ark.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %1 : tensor<8xf32>
  }
  %2 = ark.group "range" (%a = %x) attributes {plan = {warps = array<i64: 2, 8>}, tile = array<i64: 8>} : (tensor<8xf32>) -> tensor<8xf32> {
    %1 = ark.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %1 : tensor<8xf32>
  }
  ark.return %0, %2 : tensor<8xf32>, tensor<8xf32>
}

// CHECK-LABEL: ark.program @concatMovesEveryOperandOnce
ark.program @concatMovesEveryOperandOnce(
    %x: tensor<8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8x2xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8x6xf32> {ark.name = "y"}) {
  // CHECK: ark.task "join" grid [4]
  // CHECK-DAG: #ark.region<(d0) -> (d0 * 2, 0), [2, 4]>] : tensor<8x4xf32>
  // CHECK-DAG: #ark.region<(d0) -> (d0 * 2, 0), [2, 2]>] : tensor<8x2xf32>
  // CHECK-SAME: outs(%{{.+}}[#ark.region<(d0) -> (d0 * 2, 0), [2, 6]>] : tensor<8x6xf32>)
  // CHECK: ark.yield
  %0 = ark.group "join" (%a = %x, %b = %z) attributes {tile = array<i64: 2, 6>}
      : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32> {
    %1 = ark.concat %a, %b axis = 1 : (tensor<8x4xf32>, tensor<8x2xf32>) -> tensor<8x6xf32>
    ark.yield %1 : tensor<8x6xf32>
  }
  ark.return %0 : tensor<8x6xf32>
}

// Each half of the pairs is computed in its part of the out, although the tile
// has dimensions of extent one that the ops do not have.
// CHECK-LABEL: ark.program @halvesAreComputedInPlace
ark.program @halvesAreComputedInPlace(
    %x: tensor<1x8x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %c: tensor<1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "s"})
    -> (tensor<1x8x1x16xf32> {ark.name = "y"}) {
  // CHECK: ^bb0(%{{.+}}: index, {{.+}}, %[[OUT:[a-z0-9]+]]: tensor<1x4x1x16xf32>):
  // CHECK: arith.subf
  // CHECK: %[[FIRST:.+]] = tensor.insert_slice %{{.+}} into %[[OUT]][0, 0, 0, 0] [1, 4, 1, 8] [1, 1, 1, 1] : tensor<4x8xf32> into tensor<1x4x1x16xf32>
  // CHECK: %[[EMPTY:.+]] = tensor.empty() : tensor<4x8xf32>
  // CHECK: outs(%[[EMPTY]] : tensor<4x8xf32>)
  // CHECK: arith.addf
  // CHECK: %[[BOTH:.+]] = tensor.insert_slice %{{.+}} into %[[FIRST]][0, 0, 0, 8] [1, 4, 1, 8] [1, 1, 1, 1] : tensor<4x8xf32> into tensor<1x4x1x16xf32>
  // CHECK-NOT: linalg.copy
  // CHECK: ark.yield %[[BOTH]]
  %0 = ark.group "rope" (%a = %x, %b = %c, %d = %s) attributes {tile = array<i64: 1, 4, 1, 16>}
      : (tensor<1x8x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32> {
    %1 = ark.rope %a, %b, %d : (tensor<1x8x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %1 : tensor<1x8x1x16xf32>
  }
  ark.return %0 : tensor<1x8x1x16xf32>
}

// The scores have as many columns as there are keys. Further ops on rows compute in place.
// CHECK-LABEL: ark.program @scoresOfALength
ark.program @scoresOfALength(
    %q: tensor<1x2x1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %n: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "n"})
    -> (tensor<1x2x1x8xf32> {ark.name = "y"}) {
  // CHECK: ark.task "attention"
  // CHECK: %[[LENGTH:.+]] = affine.min
  // CHECK: tensor.empty(%[[LENGTH]]) : tensor<1x?xf32>
  // CHECK: %[[A:.+]]:4 = ark.online_attention {{.*}} : tensor<1x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>) outs(%{{.+}} : tensor<1x8xf32>, tensor<1xf32>, tensor<1xf32>, tensor<1x?xf32>)
  // CHECK: linalg.generic {{.*}} outs(%[[A]]#2 : tensor<1xf32>)
  %0 = ark.group "attention" (%a = %q, %b = %k, %c = %n) attributes {tile = array<i64: 1, 1, 1, 8>}
      : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<i32>) -> tensor<1x2x1x8xf32> {
    %1 = ark.attention %a, %b, %b kv_length %c scale = 1.0 : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<i32>) -> tensor<1x2x1x8xf32>
    ark.yield %1 : tensor<1x2x1x8xf32>
  }
  ark.return %0 : tensor<1x2x1x8xf32>
}

// `linalg.contract` cannot sum over a dimension of a single operand.
// CHECK-LABEL: ark.program @productSummedOverOneOperand
ark.program @productSummedOverOneOperand(
    %x: tensor<16x3xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<3xf32> {ark.kind = #ark.kind<input>, ark.name = "w"})
    -> (tensor<3xf32> {ark.name = "y"}) {
  // CHECK: ark.task "sum"
  // CHECK-NOT: linalg.contract
  // CHECK: linalg.generic {{.+}} iterator_types = ["reduction", "parallel"]
  // CHECK: arith.mulf
  // CHECK: arith.addf
  %0 = ark.group "sum" (%a = %x, %b = %w) attributes {tile = array<i64: 3>}
      : (tensor<16x3xf32>, tensor<3xf32>) -> tensor<3xf32> {
    %1 = ark.mul %a, %b : (tensor<16x3xf32>, tensor<3xf32>) -> tensor<16x3xf32>
    %2 = ark.reduce_sum %1 axes = [0] keepdims = false : (tensor<16x3xf32>) -> tensor<3xf32>
    ark.yield %2 : tensor<3xf32>
  }
  ark.return %0 : tensor<3xf32>
}

// Two rows of windows, which begin at every second row, read five rows.
// CHECK-LABEL: ark.program @windowsDeclareTheRowsThatTheyRead
ark.program @windowsDeclareTheRowsThatTheyRead(
    %x: tensor<4x17x9xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x3x3x8x4xf32> {ark.name = "y"}) {
  // CHECK: ark.task "windows" grid [2, 4]
  // CHECK-SAME: ins(%{{.+}}[#ark.region<(d0, d1) -> (d0 * 2, d1 * 4, 0), [2, 5, 9]>] : tensor<4x17x9xf32>)
  // CHECK-SAME: outs(%{{.+}}[#ark.region<(d0, d1) -> (d0 * 2, 0, 0, d1 * 2, 0), [2, 3, 3, 2, 4]>] : tensor<4x3x3x8x4xf32>)
  // CHECK: linalg.generic {{.*}} outs(%{{.+}} : tensor<2x3x3x2x4xf32>)
  // CHECK: ark.yield
  %0 = ark.group "windows" (%a = %x) attributes {tile = array<i64: 2, 3, 3, 2, 4>}
      : (tensor<4x17x9xf32>) -> tensor<4x3x3x8x4xf32> {
    %1 = ark.windows %a sizes = [3, 3] strides = [2, 2] dilations = [1, 1]
      : (tensor<4x17x9xf32>) -> tensor<4x3x3x8x4xf32>
    ark.yield %1 : tensor<4x3x3x8x4xf32>
  }
  ark.return %0 : tensor<4x3x3x8x4xf32>
}

// The last tile has fewer rows, so that no region has the size of every tile: all rows are declared.
// CHECK-LABEL: ark.program @clippedWindowsDeclareAllRows
ark.program @clippedWindowsDeclareAllRows(
    %x: tensor<4x17x9xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x3x3x8x4xf32> {ark.name = "y"}) {
  // CHECK: ark.task "windows" grid [2, 3]
  // CHECK-SAME: ins(%{{.+}}[#ark.region<(d0, d1) -> (d0 * 2, 0, 0), [2, 17, 9]>] : tensor<4x17x9xf32>)
  // CHECK: ark.yield
  %0 = ark.group "windows" (%a = %x) attributes {tile = array<i64: 2, 3, 3, 3, 4>}
      : (tensor<4x17x9xf32>) -> tensor<4x3x3x8x4xf32> {
    %1 = ark.windows %a sizes = [3, 3] strides = [2, 2] dilations = [1, 1]
      : (tensor<4x17x9xf32>) -> tensor<4x3x3x8x4xf32>
    ark.yield %1 : tensor<4x3x3x8x4xf32>
  }
  ark.return %0 : tensor<4x3x3x8x4xf32>
}
