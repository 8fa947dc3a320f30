// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// Rows are normalised after the attention, whose product has fewer elements than the scores.
// CHECK-LABEL: ark.program @attentionStaysAnOp
ark.program @attentionStaysAnOp(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[Q:.+]] = %{{.+}}, %[[K:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}})
  // CHECK: %[[A:.+]]:4 = ark.online_attention ins(%[[Q]], %[[K]], %[[V]] :
  // CHECK-SAME: outs(%{{.+}} : tensor<2x4x8xf32>, tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4x16xf32>)
  // CHECK-SAME: maps [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d2, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2)>]
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %[[DOT:.+]]: f32):
  // CHECK-NEXT: %[[SCALE:.+]] = arith.constant 5.000000e-01
  // CHECK-NEXT: %[[SCORE:.+]] = arith.mulf %[[DOT]], %[[SCALE]]
  // CHECK-NEXT: ark.yield %[[SCORE]]
  // CHECK-NOT: linalg.fill
  // CHECK: %[[INVERSE:.+]] = linalg.generic {{.*}} ins(%[[A]]#2 :
  // CHECK: %[[R:.+]] = linalg.generic {{.*}} ins(%[[INVERSE]], %[[A]]#0 :
  // CHECK: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c scale = 5.0e-1 : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// The code does not divide by zero.
// CHECK-LABEL: ark.program @rowWithoutKeysGivesZeros
ark.program @rowWithoutKeysGivesZeros(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %m: tensor<4x16xi1> {ark.kind = #ark.kind<input>, ark.name = "m"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.online_attention
  // CHECK: %[[INVERSE:.+]] = arith.divf %{{.+}}, %[[SUM:.+]] : f32
  // CHECK: %[[NONE:.+]] = arith.cmpf oeq, %[[SUM]], %[[NIL:.+]] : f32
  // CHECK: arith.select %[[NONE]], %[[NIL]], %[[INVERSE]]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %m)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<4x16xi1>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c mask %d scale = 5.0e-1 : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<4x16xi1>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: ark.program @boolMaskKeepsWhereTrue
ark.program @boolMaskKeepsWhereTrue(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %m: tensor<4x16xi1> {ark.kind = #ark.kind<input>, ark.name = "m"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.online_attention
  // CHECK-SAME: mask(%{{.+}} : tensor<4x16xi1>)
  // CHECK-SAME: maps [{{.*}}, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
  // CHECK-NEXT: ^bb0({{.*}}, %[[S:.+]]: f32, %[[M:.+]]: i1):
  // CHECK: %[[SCALED:.+]] = arith.mulf %[[S]], %{{.+}}
  // CHECK: %[[LEAST:.+]] = arith.constant 0xFF800000
  // CHECK: arith.select %[[M]], %[[SCALED]], %[[LEAST]]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %m)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<4x16xi1>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c mask %d scale = 5.0e-1 : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<4x16xi1>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: ark.program @floatMaskIsAddedAfterTheScale
ark.program @floatMaskIsAddedAfterTheScale(
    %q: tensor<2x4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %m: tensor<2x1x16xbf16> {ark.kind = #ark.kind<input>, ark.name = "m"})
    -> (tensor<2x4x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.online_attention
  // CHECK-SAME: mask(%{{.+}} : tensor<2x1x16xbf16>)
  // CHECK-SAME: maps [{{.*}}, affine_map<(d0, d1, d2, d3, d4) -> (d0, 0, d2)>,
  // CHECK: %[[SCALED:.+]] = arith.mulf
  // CHECK: %[[M:.+]] = arith.extf %{{.+}} : bf16 to f32
  // CHECK: arith.addf %[[SCALED]], %[[M]]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %m)
      : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>, tensor<2x16x8xbf16>, tensor<2x1x16xbf16>) -> tensor<2x4x8xbf16> {
    %r = ark.attention %a, %b, %c mask %d scale = 5.0e-1 : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>, tensor<2x16x8xbf16>, tensor<2x1x16xbf16>) -> tensor<2x4x8xbf16>
    ark.yield %r : tensor<2x4x8xbf16>
  }
  ark.return %0 : tensor<2x4x8xbf16>
}

// CHECK-LABEL: ark.program @causalAlignsTheLastQueryWithTheLastKey
ark.program @causalAlignsTheLastQueryWithTheLastKey(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.online_attention
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %[[Q:.+]]: index, %[[K:.+]]: index, %{{.+}}: f32):
  // CHECK-DAG: %[[KEYS:.+]] = arith.constant 16 : index
  // CHECK-DAG: %[[QUERIES:.+]] = arith.constant 4 : index
  // CHECK: %[[LEFT:.+]] = arith.addi %[[K]], %[[QUERIES]]
  // CHECK: %[[RIGHT:.+]] = arith.addi %[[Q]], %[[KEYS]]
  // CHECK: %[[ADMITS:.+]] = arith.cmpi sle, %[[LEFT]], %[[RIGHT]]
  // CHECK: arith.select %[[ADMITS]], %{{.+}}, %{{.+}} : f32
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c scale = 5.0e-1 {causal} : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// A length of all 16 keys is valid. The last query is at the last valid key.
// CHECK-LABEL: ark.program @lengthBoundsTheKeysThatAreRead
ark.program @lengthBoundsTheKeysThatAreRead(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%{{.+}} = %{{.+}}, %[[K:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}}, %[[N:.+]] = %{{.+}})
  // CHECK: %[[SCALAR:.+]] = tensor.extract %[[N]][]
  // CHECK: %[[INDEX:.+]] = arith.index_cast %[[SCALAR]] : i32 to index
  // CHECK: %[[BOUND:.+]] = arith.constant 17 : index
  // CHECK: %[[CHECKED:.+]] = ark.check_index %[[INDEX]] below %[[BOUND]]
  // CHECK: %[[LENGTH:.+]] = affine.min affine_map<(d0) -> (d0, 16)>(%[[CHECKED]])
  // CHECK: %[[KEYS:.+]] = tensor.extract_slice %[[K]][0, 0, 0] [2, %[[LENGTH]], 8]
  // CHECK: %[[VALUES:.+]] = tensor.extract_slice %[[V]][0, 0, 0] [2, %[[LENGTH]], 8]
  // CHECK: tensor.empty(%[[LENGTH]]) : tensor<2x4x?xf32>
  // CHECK: ark.online_attention ins(%{{.+}}, %[[KEYS]], %[[VALUES]] :
  // CHECK: arith.addi %{{.+}}, %[[LENGTH]] : index
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %n)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<i32>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c kv_length %d scale = 5.0e-1 {causal} : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<i32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// A vCTA reads the keys of one sequence, up to the length of the sequence. The record of an error counts
// sequences over both leading dimensions.
// CHECK-LABEL: ark.program @lengthOfEachSequence
ark.program @lengthOfEachSequence(
    %q: tensor<3x5x2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<3x5x2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %n: tensor<3x5xi32> {ark.kind = #ark.kind<input>, ark.name = "n"})
    -> (tensor<3x5x2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%{{.+}} = %{{.+}}, %[[K:.+]] = %{{.+}}, %[[N:.+]] = %{{.+}})
  // CHECK: %[[I:.+]] = ark.tile_offset 0
  // CHECK: %[[J:.+]] = ark.tile_offset 1
  // CHECK: %[[SCALAR:.+]] = tensor.extract %[[N]][%[[I]], %[[J]]]
  // CHECK: %[[INDEX:.+]] = arith.index_cast %[[SCALAR]] : i32 to index
  // CHECK: %[[BOUND:.+]] = arith.constant 17 : index
  // CHECK: %[[EXTENT:.+]] = arith.constant 5 : index
  // CHECK: %[[ROW:.+]] = arith.muli %[[I]], %[[EXTENT]]
  // CHECK: %[[SEQUENCE:.+]] = arith.addi %[[ROW]], %[[J]]
  // CHECK: %[[CHECKED:.+]] = ark.check_index %[[INDEX]] below %[[BOUND]] sequence %[[SEQUENCE]]
  // CHECK: %[[LENGTH:.+]] = affine.min affine_map<(d0) -> (d0, 16)>(%[[CHECKED]])
  // CHECK: tensor.extract_slice %[[K]][0, 0, 0, 0, 0] [3, 5, 2, %[[LENGTH]], 8]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %n)
      : (tensor<3x5x2x4x8xf32>, tensor<3x5x2x16x8xf32>, tensor<3x5xi32>) -> tensor<3x5x2x4x8xf32> {
    %r = ark.attention %a, %b, %b kv_length %c scale = 5.0e-1 : (tensor<3x5x2x4x8xf32>, tensor<3x5x2x16x8xf32>, tensor<3x5x2x16x8xf32>, tensor<3x5xi32>) -> tensor<3x5x2x4x8xf32>
    ark.yield %r : tensor<3x5x2x4x8xf32>
  }
  ark.return %0 : tensor<3x5x2x4x8xf32>
}

// CHECK-LABEL: ark.program @lengthBoundsTheMask
ark.program @lengthBoundsTheMask(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %m: tensor<1x16xi1> {ark.kind = #ark.kind<input>, ark.name = "m"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: %[[LENGTH:.+]] = affine.min
  // CHECK: tensor.extract_slice %{{.+}}[0, 0] [1, %[[LENGTH]]] [1, 1] : tensor<1x16xi1> to tensor<1x?xi1>
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %m, %e = %n)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<1x16xi1>, tensor<i32>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c mask %d kv_length %e scale = 5.0e-1 : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<1x16xi1>, tensor<i32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// CHECK-LABEL: ark.program @queryHeadsShareAKeyHead
ark.program @queryHeadsShareAKeyHead(
    %q: tensor<8x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<8x4x8xf32> {ark.name = "y"}) {
  // CHECK: affine_map<(d0, d1, d2, d3, d4) -> (d0 floordiv 4, d2, d3)>, affine_map<(d0, d1, d2, d3, d4) -> (d0 floordiv 4, d2, d4)>
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v)
      : (tensor<8x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<8x4x8xf32> {
    %r = ark.attention %a, %b, %c scale = 5.0e-1 : (tensor<8x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<8x4x8xf32>
    ark.yield %r : tensor<8x4x8xf32>
  }
  ark.return %0 : tensor<8x4x8xf32>
}

// CHECK-LABEL: ark.program @batchComesBeforeHeads
ark.program @batchComesBeforeHeads(
    %q: tensor<3x8x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<3x2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<3x2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<3x8x4x8xf32> {ark.name = "y"}) {
  // CHECK: affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1 floordiv 4, d3, d4)>
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v)
      : (tensor<3x8x4x8xf32>, tensor<3x2x16x8xf32>, tensor<3x2x16x8xf32>) -> tensor<3x8x4x8xf32> {
    %r = ark.attention %a, %b, %c scale = 5.0e-1 : (tensor<3x8x4x8xf32>, tensor<3x2x16x8xf32>, tensor<3x2x16x8xf32>) -> tensor<3x8x4x8xf32>
    ark.yield %r : tensor<3x8x4x8xf32>
  }
  ark.return %0 : tensor<3x8x4x8xf32>
}

// CHECK-LABEL: ark.program @narrowFloatsAreConvertedInTheLoops
ark.program @narrowFloatsAreConvertedInTheLoops(
    %q: tensor<2x4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<2x4x8xbf16> {ark.name = "y"}) {
  // CHECK: ark.online_attention ins(%{{.+}} : tensor<2x4x8xbf16>, tensor<2x16x8xbf16>, tensor<2x16x8xbf16>) outs(%{{.+}} : tensor<2x4x8xf32>,
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v)
      : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>, tensor<2x16x8xbf16>) -> tensor<2x4x8xbf16> {
    %r = ark.attention %a, %b, %c scale = 5.0e-1 : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>, tensor<2x16x8xbf16>) -> tensor<2x4x8xbf16>
    ark.yield %r : tensor<2x4x8xbf16>
  }
  ark.return %0 : tensor<2x4x8xbf16>
}
