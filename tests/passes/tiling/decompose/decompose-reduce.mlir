// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// CHECK-LABEL: ark.program @sumStartsAtZero
ark.program @sumStartsAtZero(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK: %[[INIT:.+]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.+}} : tensor<4xf32>)
  // CHECK: %[[SUM:.+]] = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}
  // CHECK-SAME: outs(%[[INIT]] : tensor<4xf32>)
  // CHECK: arith.addf
  // CHECK: ark.yield %[[SUM]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4xf32> {
    %r = ark.reduce_sum %a axes = [1] keepdims = false : (tensor<4x8xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// CHECK-LABEL: ark.program @severalAxesInAnyOrder
ark.program @severalAxesInAnyOrder(
    %x: tensor<2x4x8xi32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi32> {ark.name = "y"}) {
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d1, d2)>, affine_map<(d0, d1, d2) -> (d1)>], iterator_types = ["reduction", "parallel", "reduction"]}
  // CHECK: arith.addi
  %0 = ark.group "g" (%a = %x)
      : (tensor<2x4x8xi32>) -> tensor<4xi32> {
    %r = ark.reduce_sum %a axes = [2, 0] keepdims = false : (tensor<2x4x8xi32>) -> tensor<4xi32>
    ark.yield %r : tensor<4xi32>
  }
  ark.return %0 : tensor<4xi32>
}

// CHECK-LABEL: ark.program @keptDimensionsAreExpandedAtTheEnd
ark.program @keptDimensionsAreExpandedAtTheEnd(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x1xf32> {ark.name = "y"}) {
  // CHECK: %[[MAX:.+]] = linalg.generic {{.*}} outs(%{{.+}} : tensor<4xf32>)
  // CHECK: arith.maximumf
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%[[MAX]] : tensor<4xf32>) outs(%{{.+}} : tensor<4x1xf32>)
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4x1xf32> {
    %r = ark.reduce_max %a axes = [1] keepdims = true : (tensor<4x8xf32>) -> tensor<4x1xf32>
    ark.yield %r : tensor<4x1xf32>
  }
  ark.return %0 : tensor<4x1xf32>
}

// CHECK-LABEL: ark.program @meanDividesByTheCount
ark.program @meanDividesByTheCount(
    %x: tensor<2x4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xbf16> {ark.name = "y"}) {
  // CHECK: arith.addf %{{.+}}, %{{.+}} : f32
  // CHECK: %[[COUNT:.+]] = arith.constant 1.600000e+01 : f32
  // CHECK: arith.divf %{{.+}}, %[[COUNT]] : f32
  // CHECK: arith.truncf %{{.+}} : f32 to bf16
  %0 = ark.group "g" (%a = %x)
      : (tensor<2x4x8xbf16>) -> tensor<4xbf16> {
    %r = ark.reduce_mean %a axes = [0, 2] keepdims = false : (tensor<2x4x8xbf16>) -> tensor<4xbf16>
    ark.yield %r : tensor<4xbf16>
  }
  ark.return %0 : tensor<4xbf16>
}

// CHECK-LABEL: ark.program @signedMinimumStartsAtTheGreatest
ark.program @signedMinimumStartsAtTheGreatest(
    %x: tensor<4x8xi8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi8> {ark.name = "y"}) {
  // CHECK: arith.constant 127 : i8
  // CHECK: arith.minsi
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xi8>) -> tensor<4xi8> {
    %r = ark.reduce_min %a axes = [1] keepdims = false : (tensor<4x8xi8>) -> tensor<4xi8>
    ark.yield %r : tensor<4xi8>
  }
  ark.return %0 : tensor<4xi8>
}

// CHECK-LABEL: ark.program @unsignedMaximumStartsAtZero
ark.program @unsignedMaximumStartsAtZero(
    %x: tensor<4x8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xui8> {ark.name = "y"}) {
  // CHECK: arith.constant 0 : i8
  // CHECK: arith.maxui
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xui8>) -> tensor<4xui8> {
    %r = ark.reduce_max %a axes = [1] keepdims = false : (tensor<4x8xui8>) -> tensor<4xui8>
    ark.yield %r : tensor<4xui8>
  }
  ark.return %0 : tensor<4xui8>
}

// CHECK-LABEL: ark.program @floatMaximumStartsAtMinusInfinity
ark.program @floatMaximumStartsAtMinusInfinity(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: arith.constant 0xFF800000 : f32
  // CHECK: arith.maximumf
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4xf32> {
    %r = ark.reduce_max %a axes = [1] keepdims = false : (tensor<4x8xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// CHECK-LABEL: ark.program @reductionOfEverythingIsAScalar
ark.program @reductionOfEverythingIsAScalar(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<f32> {ark.name = "y"}) {
  // CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> ()>], iterator_types = ["reduction", "reduction"]} ins(%{{.+}}) outs(%{{.+}} : tensor<f32>)
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<f32> {
    %r = ark.reduce_sum %a axes = [0, 1] keepdims = false : (tensor<4x8xf32>) -> tensor<f32>
    ark.yield %r : tensor<f32>
  }
  ark.return %0 : tensor<f32>
}

// The first NaN is the maximum, since no value compares greater.
// CHECK-LABEL: ark.program @argmaxKeepsTheFirstMaximum
ark.program @argmaxKeepsTheFirstMaximum(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi32> {ark.name = "y"}) {
  // CHECK: %[[BEST:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.+}} : tensor<4x8xf32>) outs(%{{.+}} : tensor<4xf32>)
  // CHECK: arith.maximumf
  // CHECK: %[[WHERE:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.+}}, %[[BEST]] : tensor<4x8xf32>, tensor<4xf32>) outs(%{{.+}} : tensor<4xi32>)
  // CHECK-NEXT: ^bb0(%[[X:.+]]: f32, %[[MAX:.+]]: f32, %[[LEAST:.+]]: i32):
  // CHECK: %[[INDEX:.+]] = linalg.index 1
  // CHECK: %[[I:.+]] = arith.index_cast %[[INDEX]] : index to i32
  // CHECK-DAG: %[[EQUAL:.+]] = arith.cmpf oeq, %[[X]], %[[MAX]]
  // CHECK-DAG: %[[NAN:.+]] = arith.cmpf uno, %[[X]], %[[X]]
  // CHECK: %[[IS:.+]] = arith.ori %[[EQUAL]], %[[NAN]]
  // CHECK: %[[CANDIDATE:.+]] = arith.select %[[IS]], %[[I]], %{{.+}} : i32
  // CHECK: %[[NEW:.+]] = arith.minsi %[[CANDIDATE]], %[[LEAST]]
  // CHECK: linalg.yield %[[NEW]]
  // CHECK: ark.yield %[[WHERE]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4xi32> {
    %r = ark.argmax %a axis = 1 : (tensor<4x8xf32>) -> tensor<4xi32>
    ark.yield %r : tensor<4xi32>
  }
  ark.return %0 : tensor<4xi32>
}

// CHECK-LABEL: ark.program @argmaxOfUnsignedIntegers
ark.program @argmaxOfUnsignedIntegers(
    %x: tensor<4x8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  // CHECK: iterator_types = ["reduction", "parallel"]
  // CHECK: arith.maxui
  // CHECK: iterator_types = ["reduction", "parallel"]
  // CHECK: linalg.index 0
  // CHECK: arith.cmpi eq
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xui8>) -> tensor<8xi32> {
    %r = ark.argmax %a axis = 0 : (tensor<4x8xui8>) -> tensor<8xi32>
    ark.yield %r : tensor<8xi32>
  }
  ark.return %0 : tensor<8xi32>
}

// Each partition stores its maximum in one word: the upper half is the value as an integer of the same order,
// and the lower half the complement of the index in the whole row.
// CHECK-LABEL: ark.program @partialArgmaxOfFloats
ark.program @partialArgmaxOfFloats(
    %x: tensor<4x3x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x3xi64> {ark.name = "y"}) {
  // CHECK: %[[BEST:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.+}} : tensor<4x3x8xf32>) outs(%{{.+}} : tensor<4x3xf32>)
  // CHECK: %[[WHERE:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.+}}, %[[BEST]] : tensor<4x3x8xf32>, tensor<4x3xf32>) outs(%{{.+}} : tensor<4x3xi32>)
  // CHECK: %[[PACKED:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]} ins(%[[BEST]], %[[WHERE]] : tensor<4x3xf32>, tensor<4x3xi32>) outs(%{{.+}} : tensor<4x3xi64>)
  // CHECK-NEXT: ^bb0(%[[X:.+]]: f32, %[[I:.+]]: i32, %{{.+}}: i64):
  // CHECK: %[[PARTITION:.+]] = linalg.index 1
  // CHECK: %[[P:.+]] = arith.index_cast %[[PARTITION]] : index to i32
  // CHECK: %[[EIGHT:.+]] = arith.constant 8 : i32
  // CHECK: %[[FIRST:.+]] = arith.muli %[[P]], %[[EIGHT]]
  // CHECK: %[[MOST:.+]] = arith.constant 2147483647 : i32
  // CHECK: %[[BITS:.+]] = arith.bitcast %[[X]] : f32 to i32
  // CHECK: %[[ZERO:.+]] = arith.cmpf oeq, %[[X]],
  // CHECK: arith.select %[[ZERO]]
  // CHECK: arith.cmpi slt
  // CHECK: arith.xori
  // CHECK: %[[NAN:.+]] = arith.cmpf uno, %[[X]], %[[X]]
  // CHECK: %[[ORDER:.+]] = arith.select %[[NAN]], %[[MOST]]
  // CHECK: %[[INDEX:.+]] = arith.addi %[[FIRST]], %[[I]]
  // CHECK: arith.extsi %[[ORDER]] : i32 to i64
  // CHECK: %[[UPPER:.+]] = arith.shli
  // CHECK: arith.xori %[[INDEX]]
  // CHECK: %[[LOWER:.+]] = arith.extui %{{.+}} : i32 to i64
  // CHECK: arith.ori %[[UPPER]], %[[LOWER]]
  // CHECK: ark.yield %[[PACKED]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x3x8xf32>) -> tensor<4x3xi64> {
    %r = ark.partial_argmax %a axis = 2 : (tensor<4x3x8xf32>) -> tensor<4x3xi64>
    ark.yield %r : tensor<4x3xi64>
  }
  ark.return %0 : tensor<4x3xi64>
}

// CHECK-LABEL: ark.program @partialArgmaxOfIntegers
ark.program @partialArgmaxOfIntegers(
    %x: tensor<3x8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<3x8xi8> {ark.kind = #ark.kind<input>, ark.name = "s"},
    %u: tensor<3x8xui32> {ark.kind = #ark.kind<input>, ark.name = "u"})
    -> (tensor<3xi64> {ark.name = "y0"}, tensor<3xi64> {ark.name = "y1"}, tensor<3xi64> {ark.name = "y2"}) {
  // CHECK: ark.group "bytes"
  // CHECK: arith.extui %{{.+}} : i8 to i32
  %0 = ark.group "bytes" (%a = %x) : (tensor<3x8xui8>) -> tensor<3xi64> {
    %r = ark.partial_argmax %a axis = 1 : (tensor<3x8xui8>) -> tensor<3xi64>
    ark.yield %r : tensor<3xi64>
  }
  // CHECK: ark.group "signed"
  // CHECK: arith.extsi %{{.+}} : i8 to i32
  %1 = ark.group "signed" (%a = %s) : (tensor<3x8xi8>) -> tensor<3xi64> {
    %r = ark.partial_argmax %a axis = 1 : (tensor<3x8xi8>) -> tensor<3xi64>
    ark.yield %r : tensor<3xi64>
  }
  // The sign bit is flipped, so that signed comparisons of words order them.
  // CHECK: ark.group "words"
  // CHECK: %[[SIGN:.+]] = arith.constant -2147483648 : i32
  // CHECK: arith.xori %{{.+}}, %[[SIGN]] : i32
  %2 = ark.group "words" (%a = %u) : (tensor<3x8xui32>) -> tensor<3xi64> {
    %r = ark.partial_argmax %a axis = 1 : (tensor<3x8xui32>) -> tensor<3xi64>
    ark.yield %r : tensor<3xi64>
  }
  ark.return %0, %1, %2 : tensor<3xi64>, tensor<3xi64>, tensor<3xi64>
}

// CHECK-LABEL: ark.program @combineArgmax
ark.program @combineArgmax(
    %x: tensor<4x3xi64> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi32> {ark.name = "y"}) {
  // CHECK: %[[BEST:.+]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.+}} : tensor<4x3xi64>) outs(%{{.+}} : tensor<4xi64>)
  // CHECK: arith.maxsi
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]} ins(%[[BEST]] : tensor<4xi64>) outs(%{{.+}} : tensor<4xi32>)
  // CHECK: arith.trunci %{{.+}} : i64 to i32
  // CHECK: arith.xori
  %0 = ark.group "g" (%a = %x) : (tensor<4x3xi64>) -> tensor<4xi32> {
    %r = ark.combine_argmax %a axis = 1 : (tensor<4x3xi64>) -> tensor<4xi32>
    ark.yield %r : tensor<4xi32>
  }
  ark.return %0 : tensor<4xi32>
}
