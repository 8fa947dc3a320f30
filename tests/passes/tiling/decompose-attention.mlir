// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// Rows are normalised after the second product, whose result has fewer elements.
// CHECK-LABEL: ark.program @attentionIsTwoContractionsAroundASoftmax
ark.program @attentionIsTwoContractionsAroundASoftmax(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[Q:.+]] = %{{.+}}, %[[K:.+]] = %{{.+}}, %[[V:.+]] = %{{.+}})
  // CHECK: %[[SCORES:.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[Q]], %[[K]] :
  // CHECK: %[[SCALED:.+]] = linalg.generic {{.*}} ins(%[[SCORES]] :
  // CHECK: arith.constant 5.000000e-01
  // CHECK: %[[MAX:.+]] = linalg.generic {{.*}} ins(%[[SCALED]] : {{.*}} outs(%{{.+}} : tensor<2x4xf32>)
  // CHECK: arith.maximumf
  // CHECK: %[[FINITE:.+]] = linalg.generic {{.*}} ins(%[[MAX]] :
  // CHECK: %[[POWERS:.+]] = linalg.generic {{.*}} ins(%[[SCALED]], %[[FINITE]] :
  // CHECK: math.exp
  // CHECK: %[[SUM:.+]] = linalg.generic {{.*}} ins(%[[POWERS]] :
  // CHECK: %[[INVERSE:.+]] = linalg.generic {{.*}} ins(%[[SUM]] :
  // CHECK: %[[PRODUCT:.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d3, d2)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%[[POWERS]], %[[V]] :
  // CHECK: %[[R:.+]] = linalg.generic {{.*}} ins(%[[INVERSE]], %[[PRODUCT]] :
  // CHECK: ark.yield %[[R]]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c scale = 5.0e-1 : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}

// The loops neither subtract infinities nor divide by zero.
// CHECK-LABEL: ark.program @rowWithoutKeysGivesZeros
ark.program @rowWithoutKeysGivesZeros(
    %q: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %v: tensor<2x16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %m: tensor<4x16xi1> {ark.kind = #ark.kind<input>, ark.name = "m"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  // CHECK: arith.maximumf
  // CHECK: ^bb0(%[[MAX:.+]]: f32, %{{.+}}: f32):
  // CHECK: %[[LEAST:.+]] = arith.constant 0xFF800000
  // CHECK: %[[EMPTY:.+]] = arith.cmpf oeq, %[[MAX]], %[[LEAST]]
  // CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00
  // CHECK: arith.select %[[EMPTY]], %[[ZERO]], %[[MAX]]
  // CHECK: math.exp
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
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>,
  // CHECK-NEXT: ^bb0(%[[S:.+]]: f32, %[[M:.+]]: i1, %{{.+}}: f32):
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
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, 0, d2)>,
  // CHECK-SAME: tensor<2x1x16xbf16>
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
  // CHECK: %[[Q:.+]] = linalg.index 1
  // CHECK: %[[K:.+]] = linalg.index 2
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
  // CHECK: linalg.generic {{.*}} ins(%{{.+}}, %[[KEYS]] :
  // CHECK: linalg.index 1
  // CHECK: arith.addi %{{.+}}, %[[LENGTH]] : index
  // CHECK: linalg.generic {{.*}} ins(%{{.+}}, %[[VALUES]] :
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v, %d = %n)
      : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<i32>) -> tensor<2x4x8xf32> {
    %r = ark.attention %a, %b, %c kv_length %d scale = 5.0e-1 {causal} : (tensor<2x4x8xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>, tensor<i32>) -> tensor<2x4x8xf32>
    ark.yield %r : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
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
  // CHECK: affine_map<(d0, d1, d2, d3) -> (d0 floordiv 4, d2, d3)>
  // CHECK: affine_map<(d0, d1, d2, d3) -> (d0 floordiv 4, d3, d2)>
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
  // CHECK: affine_map<(d0, d1, d2, d3, d4) -> (d0, d1 floordiv 4, d3, d4)>
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
  // CHECK: linalg.generic {{.*}} ins(%{{.+}} : tensor<2x4x8xbf16>, tensor<2x16x8xbf16>) outs(%{{.+}} : tensor<2x4x16xf32>)
  // CHECK: math.exp %{{.+}} : f32
  // CHECK: linalg.generic {{.*}} ins(%{{.+}} : tensor<2x4x16xf32>, tensor<2x16x8xbf16>) outs(%{{.+}} : tensor<2x4x8xf32>)
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %v)
      : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>, tensor<2x16x8xbf16>) -> tensor<2x4x8xbf16> {
    %r = ark.attention %a, %b, %c scale = 5.0e-1 : (tensor<2x4x8xbf16>, tensor<2x16x8xbf16>, tensor<2x16x8xbf16>) -> tensor<2x4x8xbf16>
    ark.yield %r : tensor<2x4x8xbf16>
  }
  ark.return %0 : tensor<2x4x8xbf16>
}
