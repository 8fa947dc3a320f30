// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

// Division by zero gives zero, and the one quotient that overflows wraps.
// CHECK-LABEL: ark.program @integerDivisionNeverTraps
ark.program @integerDivisionNeverTraps(
    %x: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[A:.+]]: i32, %[[B:.+]]: i32, %{{.+}}: i32):
  // CHECK-DAG: %[[ZERO:.+]] = arith.constant 0 : i32
  // CHECK-DAG: %[[ONE:.+]] = arith.constant 1 : i32
  // CHECK-DAG: %[[BY_ZERO:.+]] = arith.cmpi eq, %[[B]], %[[ZERO]]
  // CHECK-DAG: %[[MINUS:.+]] = arith.constant -1 : i32
  // CHECK-DAG: %[[BY_MINUS:.+]] = arith.cmpi eq, %[[B]], %[[MINUS]]
  // CHECK: %[[UNSAFE:.+]] = arith.ori %[[BY_ZERO]], %[[BY_MINUS]]
  // CHECK: %[[SAFE:.+]] = arith.select %[[UNSAFE]], %[[ONE]], %[[B]]
  // CHECK: %[[Q:.+]] = arith.divsi %[[A]], %[[SAFE]]
  // CHECK: %[[NEG:.+]] = arith.subi %[[ZERO]], %[[A]]
  // CHECK: %[[Q2:.+]] = arith.select %[[BY_MINUS]], %[[NEG]], %[[Q]]
  // CHECK: %[[Q3:.+]] = arith.select %[[BY_ZERO]], %[[ZERO]], %[[Q2]]
  // CHECK: linalg.yield %[[Q3]]
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32> {
    %r = ark.div %a, %b : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>
    ark.yield %r : tensor<8xi32>
  }
  ark.return %0 : tensor<8xi32>
}

// CHECK-LABEL: ark.program @unsignedDivisionCannotOverflow
ark.program @unsignedDivisionCannotOverflow(
    %x: tensor<8xui32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xui32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xui32> {ark.name = "y"}) {
  // CHECK-NOT: arith.constant -1
  // CHECK: %[[SAFE:.+]] = arith.select
  // CHECK: %[[Q:.+]] = arith.divui %{{.+}}, %[[SAFE]] : i32
  // CHECK: arith.select %{{.+}}, %{{.+}}, %[[Q]]
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32> {
    %r = ark.div %a, %b : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xui32>
    ark.yield %r : tensor<8xui32>
  }
  ark.return %0 : tensor<8xui32>
}

// CHECK-LABEL: ark.program @floatDivisionIsOneOp
ark.program @floatDivisionIsOneOp(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[A:.+]]: f32, %[[B:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: %[[Q:.+]] = arith.divf %[[A]], %[[B]]
  // CHECK-NEXT: linalg.yield %[[Q]]
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.div %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// CHECK-LABEL: ark.program @subtractionKeepsTheOrderOfItsOperands
ark.program @subtractionKeepsTheOrderOfItsOperands(
    %x: tensor<8xi64> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xi64> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xi64> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[A:.+]]: i64, %[[B:.+]]: i64, %{{.+}}: i64):
  // CHECK-NEXT: arith.subi %[[A]], %[[B]]
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64> {
    %r = ark.sub %a, %b : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
    ark.yield %r : tensor<8xi64>
  }
  ark.return %0 : tensor<8xi64>
}

// CHECK-LABEL: ark.program @floatMaximumPassesNaNOn
ark.program @floatMaximumPassesNaNOn(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: arith.maximumf
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.maximum %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// CHECK-LABEL: ark.program @signedMinimum
ark.program @signedMinimum(
    %x: tensor<8xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xi8> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xi8> {ark.name = "y"}) {
  // CHECK: arith.minsi
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi8> {
    %r = ark.minimum %a, %b : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi8>
    ark.yield %r : tensor<8xi8>
  }
  ark.return %0 : tensor<8xi8>
}

// CHECK-LABEL: ark.program @unsignedMaximum
ark.program @unsignedMaximum(
    %x: tensor<8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xui8> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xui8> {ark.name = "y"}) {
  // CHECK: arith.maxui
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8> {
    %r = ark.maximum %a, %b : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
    ark.yield %r : tensor<8xui8>
  }
  ark.return %0 : tensor<8xui8>
}

// CHECK-LABEL: ark.program @signedRelu
ark.program @signedRelu(
    %x: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  // CHECK: %[[ZERO:.+]] = arith.constant 0 : i32
  // CHECK-NEXT: arith.maxsi %{{.+}}, %[[ZERO]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xi32>) -> tensor<8xi32> {
    %r = ark.relu %a : (tensor<8xi32>) -> tensor<8xi32>
    ark.yield %r : tensor<8xi32>
  }
  ark.return %0 : tensor<8xi32>
}

// CHECK-LABEL: ark.program @unsignedAbsIsTheOperand
ark.program @unsignedAbsIsTheOperand(
    %x: tensor<8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xui8> {ark.name = "y"}) {
  // CHECK: linalg.generic {{.*}} ins(%{{[a-z0-9_]+}} : tensor<8xi8>)
  // CHECK-NEXT: ^bb0(%[[X:.+]]: i8, %{{.+}}: i8):
  // CHECK-NEXT: linalg.yield %[[X]] : i8
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xui8>) -> tensor<8xui8> {
    %r = ark.abs %a : (tensor<8xui8>) -> tensor<8xui8>
    ark.yield %r : tensor<8xui8>
  }
  ark.return %0 : tensor<8xui8>
}

// CHECK-LABEL: ark.program @integerNegationIsASubtraction
ark.program @integerNegationIsASubtraction(
    %x: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  // CHECK: %[[ZERO:.+]] = arith.constant 0 : i32
  // CHECK-NEXT: arith.subi %[[ZERO]], %{{.+}} : i32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xi32>) -> tensor<8xi32> {
    %r = ark.neg %a : (tensor<8xi32>) -> tensor<8xi32>
    ark.yield %r : tensor<8xi32>
  }
  ark.return %0 : tensor<8xi32>
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

// CHECK-LABEL: ark.program @exactGeluTakesTheErrorFunction
ark.program @exactGeluTakesTheErrorFunction(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[X:.+]]: f32, %{{.+}}: f32):
  // CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
  // CHECK-DAG: %[[LOWEST:.+]] = arith.constant -3.40282347E+38 : f32
  // CHECK: %[[ABOVE:.+]] = arith.cmpf ogt, %[[X]], %[[LOWEST]]
  // CHECK: %[[FACTOR:.+]] = arith.select %[[ABOVE]], %[[X]], %[[LOWEST]]
  // CHECK: %[[HALF:.+]] = arith.mulf %{{.+}}, %[[FACTOR]]
  // CHECK: %[[C:.+]] = arith.constant 0.707106769 : f32
  // CHECK: %[[SCALED:.+]] = arith.mulf %[[C]], %[[X]]
  // CHECK: %[[ERF:.+]] = math.erf %[[SCALED]]
  // CHECK: %[[SUM:.+]] = arith.addf %[[ONE]], %[[ERF]]
  // CHECK: arith.mulf %[[HALF]], %[[SUM]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.gelu %a approximate = none : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// CHECK-LABEL: ark.program @approximateGeluTakesTheTangent
ark.program @approximateGeluTakesTheTangent(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: %[[LOWEST:.+]] = arith.constant -3.40282347E+38 : f32
  // CHECK: arith.cmpf ogt, %{{.+}}, %[[LOWEST]]
  // CHECK: arith.constant 4.471500e-02
  // CHECK: arith.constant 0.797884583
  // CHECK: math.tanh
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.gelu %a approximate = tanh : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// Minus infinity times zero would be NaN; the limit is zero.
// CHECK-LABEL: ark.program @siluIsItsOperandTimesSigmoid
ark.program @siluIsItsOperandTimesSigmoid(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[X:.+]]: f32, %{{.+}}: f32):
  // CHECK: %[[LOWEST:.+]] = arith.constant -3.40282347E+38 : f32
  // CHECK: %[[ABOVE:.+]] = arith.cmpf ogt, %[[X]], %[[LOWEST]]
  // CHECK: %[[FACTOR:.+]] = arith.select %[[ABOVE]], %[[X]], %[[LOWEST]]
  // CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
  // CHECK: %[[NEG:.+]] = arith.negf %[[X]]
  // CHECK: %[[E:.+]] = math.exp %[[NEG]]
  // CHECK: %[[SUM:.+]] = arith.addf %[[ONE]], %[[E]]
  // CHECK: %[[S:.+]] = arith.divf %[[ONE]], %[[SUM]]
  // CHECK: arith.mulf %[[FACTOR]], %[[S]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.silu %a : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// CHECK-LABEL: ark.program @reciprocalDividesOne
ark.program @reciprocalDividesOne(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
  // CHECK-NEXT: arith.divf %[[ONE]], %{{.+}} : f32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf32>) -> tensor<8xf32> {
    %r = ark.reciprocal %a : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

// NaN is unequal to every value, itself included.
// CHECK-LABEL: ark.program @comparisonsOfFloatsAreOrdered
ark.program @comparisonsOfFloatsAreOrdered(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xi1> {ark.name = "y"}) {
  // CHECK: arith.cmpf olt
  // CHECK: arith.cmpf une
  // CHECK: arith.andi %{{.+}}, %{{.+}} : i1
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1> {
    %1 = ark.compare lt %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %2 = ark.compare ne %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xi1>
    %r = ark.logical_and %1, %2 : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
    ark.yield %r : tensor<8xi1>
  }
  ark.return %0 : tensor<8xi1>
}

// CHECK-LABEL: ark.program @comparisonOfIntegersDependsOnTheSign
ark.program @comparisonOfIntegersDependsOnTheSign(
    %x: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xui32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xi1> {ark.name = "y"}) {
  // CHECK: arith.cmpi sge
  // CHECK: arith.cmpi uge
  // CHECK: arith.ori
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xi32>, tensor<8xui32>) -> tensor<8xi1> {
    %1 = ark.compare ge %a, %a : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
    %2 = ark.compare ge %b, %b : (tensor<8xui32>, tensor<8xui32>) -> tensor<8xi1>
    %r = ark.logical_or %1, %2 : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
    ark.yield %r : tensor<8xi1>
  }
  ark.return %0 : tensor<8xi1>
}

// CHECK-LABEL: ark.program @negationFlipsABool
ark.program @negationFlipsABool(
    %x: tensor<8xi1> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi1> {ark.name = "y"}) {
  // CHECK: %[[TRUE:.+]] = arith.constant true
  // CHECK-NEXT: arith.xori %{{.+}}, %[[TRUE]] : i1
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xi1>) -> tensor<8xi1> {
    %r = ark.logical_not %a : (tensor<8xi1>) -> tensor<8xi1>
    ark.yield %r : tensor<8xi1>
  }
  ark.return %0 : tensor<8xi1>
}

// CHECK-LABEL: ark.program @whereSelects
ark.program @whereSelects(
    %cond: tensor<4x1xi1> {ark.kind = #ark.kind<input>, ark.name = "cond"},
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[C:.+]]: i1, %[[X:.+]]: f32, %[[Z:.+]]: f32, %{{.+}}: f32):
  // CHECK-NEXT: arith.select %[[C]], %[[X]], %[[Z]]
  %0 = ark.group "g" (%a = %cond, %b = %x, %c = %z)
      : (tensor<4x1xi1>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    %r = ark.where %a, %b, %c : (tensor<4x1xi1>, tensor<8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

// NaN fails both comparisons, and takes the zero of `safe`.
// CHECK-LABEL: ark.program @floatToIntegerSaturates
ark.program @floatToIntegerSaturates(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi8> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[X:.+]]: f32, %{{.+}}: i8):
  // CHECK-DAG: %[[LOW:.+]] = arith.constant -1.280000e+02 : f32
  // CHECK-DAG: %[[HIGH:.+]] = arith.constant 1.280000e+02 : f32
  // CHECK: %[[GE:.+]] = arith.cmpf oge, %[[X]], %[[LOW]]
  // CHECK: %[[LT:.+]] = arith.cmpf olt, %[[X]], %[[HIGH]]
  // CHECK: %[[FITS:.+]] = arith.andi %[[GE]], %[[LT]]
  // CHECK: %[[SAFE:.+]] = arith.select %[[FITS]], %[[X]], %{{.+}} : f32
  // CHECK: %[[I:.+]] = arith.fptosi %[[SAFE]] : f32 to i8
  // CHECK-DAG: %[[BELOW:.+]] = arith.cmpf olt, %[[X]], %[[LOW]]
  // CHECK-DAG: %[[ABOVE:.+]] = arith.cmpf oge, %[[X]], %[[HIGH]]
  // CHECK-DAG: %[[MAX:.+]] = arith.constant 127 : i8
  // CHECK-DAG: %[[I2:.+]] = arith.select %[[ABOVE]], %[[MAX]], %[[I]]
  // CHECK: %[[MIN:.+]] = arith.constant -128 : i8
  // CHECK: arith.select %[[BELOW]], %[[MIN]], %[[I2]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf32>) -> tensor<8xi8> {
    %r = ark.cast %a to i8 : (tensor<8xf32>) -> tensor<8xi8>
    ark.yield %r : tensor<8xi8>
  }
  ark.return %0 : tensor<8xi8>
}

// The bound 255 is -1 as a signless byte.
// CHECK-LABEL: ark.program @floatToUnsignedSaturatesAtZero
ark.program @floatToUnsignedSaturatesAtZero(
    %x: tensor<8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xui8> {ark.name = "y"}) {
  // CHECK-DAG: arith.constant 0.000000e+00 : f32
  // CHECK-DAG: arith.constant 2.560000e+02 : f32
  // CHECK: arith.fptoui %{{.+}} : f32 to i8
  // CHECK: arith.constant -1 : i8
  // CHECK: arith.constant 0 : i8
  // CHECK: builtin.unrealized_conversion_cast %{{.+}} : i8 to ui8
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xbf16>) -> tensor<8xui8> {
    %r = ark.cast %a to ui8 : (tensor<8xbf16>) -> tensor<8xui8>
    ark.yield %r : tensor<8xui8>
  }
  ark.return %0 : tensor<8xui8>
}

// CHECK-LABEL: ark.program @narrowerIntegersWrap
ark.program @narrowerIntegersWrap(
    %x: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi8> {ark.name = "y"}) {
  // CHECK: arith.trunci %{{.+}} : i32 to i8
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xi32>) -> tensor<8xi8> {
    %r = ark.cast %a to i8 : (tensor<8xi32>) -> tensor<8xi8>
    ark.yield %r : tensor<8xi8>
  }
  ark.return %0 : tensor<8xi8>
}

// CHECK-LABEL: ark.program @widerSignedIntegersExtendTheSign
ark.program @widerSignedIntegersExtendTheSign(
    %x: tensor<8xi8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  // CHECK: arith.extsi %{{.+}} : i8 to i32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xi8>) -> tensor<8xi32> {
    %r = ark.cast %a to i32 : (tensor<8xi8>) -> tensor<8xi32>
    ark.yield %r : tensor<8xi32>
  }
  ark.return %0 : tensor<8xi32>
}

// CHECK-LABEL: ark.program @widerUnsignedIntegersExtendZeros
ark.program @widerUnsignedIntegersExtendZeros(
    %x: tensor<8xui8> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  // CHECK: arith.extui %{{.+}} : i8 to i32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xui8>) -> tensor<8xi32> {
    %r = ark.cast %a to i32 : (tensor<8xui8>) -> tensor<8xi32>
    ark.yield %r : tensor<8xi32>
  }
  ark.return %0 : tensor<8xi32>
}

// CHECK-LABEL: ark.program @trueIsOne
ark.program @trueIsOne(
    %x: tensor<8xi1> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi32> {ark.name = "y"}) {
  // CHECK: arith.extui %{{.+}} : i1 to i32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xi1>) -> tensor<8xi32> {
    %r = ark.cast %a to i32 : (tensor<8xi1>) -> tensor<8xi32>
    ark.yield %r : tensor<8xi32>
  }
  ark.return %0 : tensor<8xi32>
}

// CHECK-LABEL: ark.program @trueIsOnePointZero
ark.program @trueIsOnePointZero(
    %x: tensor<8xi1> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: arith.uitofp %{{.+}} : i1 to f32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xi1>) -> tensor<8xf32> {
    %r = ark.cast %a to f32 : (tensor<8xi1>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// NaN is true, too.
// CHECK-LABEL: ark.program @anythingButZeroIsTrue
ark.program @anythingButZeroIsTrue(
    %x: tensor<8xf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xi1> {ark.name = "y"}) {
  // CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
  // CHECK: arith.cmpf une, %{{.+}}, %[[ZERO]] : f32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf16>) -> tensor<8xi1> {
    %r = ark.cast %a to i1 : (tensor<8xf16>) -> tensor<8xi1>
    ark.yield %r : tensor<8xi1>
  }
  ark.return %0 : tensor<8xi1>
}

// The user asked for the precision of bf16, even if the body continues in f32.
// CHECK-LABEL: ark.program @castRoundsEvenInsideOfABody
ark.program @castRoundsEvenInsideOfABody(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: %[[NARROW:.+]] = arith.truncf %{{.+}} : f32 to bf16
  // CHECK-NEXT: arith.extf %[[NARROW]] : bf16 to f32
  // CHECK: math.exp %{{.+}} : f32
  %0 = ark.group "g" (%a = %x)
      : (tensor<8xf32>) -> tensor<8xf32> {
    %1 = ark.cast %a to bf16 : (tensor<8xf32>) -> tensor<8xbf16>
    %2 = ark.exp %1 : (tensor<8xbf16>) -> tensor<8xbf16>
    %r = ark.cast %2 to f32 : (tensor<8xbf16>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// Each of the seven bits of the exponent has one step; a result between zero and one truncates to zero.
// CHECK-LABEL: ark.program @integerPower
ark.program @integerPower(
    %x: tensor<8xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8xi8> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8xi8> {ark.name = "y"}) {
  // CHECK: ^bb0(%[[A:.+]]: i8, %[[B:.+]]: i8, %{{.+}}: i8):
  // CHECK-COUNT-7: arith.shrui
  // CHECK-NOT: arith.shrui
  // CHECK: %[[BELOW:.+]] = arith.cmpi slt, %[[B]], %[[ZERO:.+]] : i8
  // CHECK: %[[POWER:.+]] = arith.select %{{.+}}, %[[RESULT:.+]], %[[ZERO]]
  // CHECK: %[[ALL:.+]] = arith.select %[[BELOW]], %[[POWER]], %[[RESULT]]
  // CHECK: linalg.yield %[[ALL]]
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi8> {
    %r = ark.pow %a, %b : (tensor<8xi8>, tensor<8xi8>) -> tensor<8xi8>
    ark.yield %r : tensor<8xi8>
  }
  ark.return %0 : tensor<8xi8>
}
