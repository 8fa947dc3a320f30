// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math))' | FileCheck %s
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math{library=false}))' | FileCheck %s --check-prefix=ALONE
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math{fma=false}))' | FileCheck %s --check-prefix=SPLIT
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math{exp2=true}))' | FileCheck %s --check-prefix=POWER

// `exp2` takes the rounded product, and a factor corrects its rounding error; no infinity is subtracted from another.
// POWER-LABEL: func.func @exp
// POWER-SAME: (%[[X:.+]]: f32)
// POWER: %[[MORE:.+]] = arith.maximumf %[[X]]
// POWER: %[[LESS:.+]] = arith.minimumf %[[MORE]]
// POWER: %[[PRODUCT:.+]] = arith.mulf %[[LESS]], %[[LOG2E:.+]] : f32
// POWER: %[[MINUS:.+]] = arith.negf %[[PRODUCT]]
// POWER: %[[REST:.+]] = math.fma %[[LESS]], %[[LOG2E]], %[[MINUS]]
// POWER: math.fma %[[LESS]], %{{.+}}, %[[REST]]
// POWER: %[[FACTOR:.+]] = math.fma
// POWER: %[[POWER:.+]] = math.exp2 %[[PRODUCT]]
// POWER: arith.mulf %[[POWER]], %[[FACTOR]]
// POWER-NEXT: return
// POWER-LABEL: func.func @tanh
// POWER: math.exp2
// POWER-LABEL: func.func @erf
// POWER: math.exp2

// The expansion is straight-line arithmetic without branch, call or table. An
// addition rounds to an integer, since `fptosi` of NaN is undefined.
// CHECK-LABEL: func.func @exp
// CHECK-SAME: (%[[X:.+]]: f32)
// CHECK-NOT: {{math.exp|scf|cf\.|fptosi}}
// CHECK: arith.cmpf olt, %[[X]], %{{.+}} : f32
// CHECK-NOT: {{math.exp|scf|cf\.|fptosi}}
// CHECK: %[[N:.+]] = math.fma
// CHECK-NEXT: arith.bitcast %[[N]] : f32 to i32
// CHECK-NOT: {{math.exp|scf|cf\.|fptosi}}
// CHECK: return
// SPLIT-LABEL: func.func @exp
// SPLIT-NOT: {{math.exp|fma}}
// SPLIT: %[[PRODUCT:.+]] = arith.mulf
// SPLIT-NEXT: arith.addf %[[PRODUCT]], %{{.+}} : f32
// SPLIT-NOT: {{math.exp|fma}}
// SPLIT: return
func.func @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @tanh
// CHECK-NOT: {{math.tanh|math.exp|scf|cf\.|fptosi}}
// CHECK: math.copysign
// CHECK-NOT: {{math.tanh|math.exp|scf|cf\.|fptosi}}
// CHECK: return
// SPLIT-LABEL: func.func @tanh
// SPLIT-NOT: {{math.tanh|math.exp|fma}}
// SPLIT: return
func.func @tanh(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @erf
// CHECK-NOT: {{math.erf|math.exp|scf|cf\.|fptosi}}
// CHECK: math.copysign
// CHECK-NOT: {{math.erf|math.exp|scf|cf\.|fptosi}}
// CHECK: return
// SPLIT-LABEL: func.func @erf
// SPLIT-NOT: {{math.erf|math.exp|fma}}
// SPLIT: return
func.func @erf(%x: f32) -> f32 {
  %0 = math.erf %x : f32
  return %0 : f32
}

// The exponent is a small integer, so its conversion is exact.
// CHECK-LABEL: func.func @log
// CHECK-NOT: {{math.log|scf|cf\.|fptosi}}
// CHECK: arith.sitofp
// CHECK-NOT: {{math.log|scf|cf\.|fptosi}}
// CHECK: return
// SPLIT-LABEL: func.func @log
// SPLIT-NOT: {{math.log|fma}}
// SPLIT: return
func.func @log(%x: f32) -> f32 {
  %0 = math.log %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @vectors
// CHECK-NOT: math.exp
// CHECK: math.fma %{{.+}}, %{{.+}}, %{{.+}} : vector<8xf32>
// CHECK-NOT: math.exp
// CHECK: return
// SPLIT-LABEL: func.func @vectors
// SPLIT-NOT: {{math.exp|fma}}
// SPLIT: return
func.func @vectors(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp %x : vector<8xf32>
  return %0 : vector<8xf32>
}

// CHECK-LABEL: func.func @insideOfALinalgOp
// CHECK: linalg.generic
// CHECK-NOT: math.tanh
// CHECK: linalg.yield
func.func @insideOfALinalgOp(%x: memref<8xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%x : memref<8xf32>) {
  ^bb0(%in: f32):
    %0 = math.tanh %in : f32
    linalg.yield %0 : f32
  }
  return
}

// The remaining functions call the maths library.
// CHECK-LABEL: func.func @otherFunctionsStay
// CHECK: math.sin %{{.+}} : f32
// CHECK: math.rsqrt %{{.+}} : f32
func.func @otherFunctionsStay(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  %1 = math.rsqrt %0 : f32
  return %1 : f32
}

// CHECK-LABEL: func.func @otherTypesStay
// CHECK: math.exp %{{.+}} : f64
// CHECK: math.exp %{{.+}} : f16
func.func @otherTypesStay(%x: f64, %y: f16) -> (f64, f16) {
  %0 = math.exp %x : f64
  %1 = math.exp %y : f16
  return %0, %1 : f64, f16
}

// Contractions have vector fma.
// CHECK-LABEL: func.func @fmaOfVectors
// CHECK: vector.fma
// SPLIT-LABEL: func.func @fmaOfVectors
// SPLIT-NEXT: %[[PRODUCT:.+]] = arith.mulf %{{.+}}, %{{.+}} : vector<4xf32>
// SPLIT-NEXT: arith.addf %[[PRODUCT]], %{{.+}} : vector<4xf32>
func.func @fmaOfVectors(%a: vector<4xf32>, %b: vector<4xf32>, %c: vector<4xf32>) -> vector<4xf32> {
  %0 = vector.fma %a, %b, %c : vector<4xf32>
  return %0 : vector<4xf32>
}

// Without a library, these functions are expanded in f64 and without branches.
// CHECK-LABEL: func.func @rareFunctions
// CHECK: math.sin
// CHECK: math.cos
// CHECK: math.powf
// ALONE-LABEL: func.func @rareFunctions
// ALONE-NOT: {{math.sin|math.cos|math.powf|scf|cf\.|fptosi}}
// ALONE: math.roundeven %{{.+}} : f64
// ALONE-NOT: {{math.sin|math.cos|math.powf|scf|cf\.|fptosi}}
// ALONE: return
func.func @rareFunctions(%x: f32, %y: f32) -> (f32, f32, f32) {
  %0 = math.sin %x : f32
  %1 = math.cos %x : f32
  %2 = math.powf %x, %y : f32
  return %0, %1, %2 : f32, f32, f32
}

// Ops on other types have no expansion, and stay for ark-verify-target to reject.
// ALONE-LABEL: func.func @rareFunctionsOnOtherTypes
// ALONE: math.sin %{{.+}} : f64
// ALONE: math.powf %{{.+}} : f64
func.func @rareFunctionsOnOtherTypes(%x: f64) -> (f64, f64) {
  %0 = math.sin %x : f64
  %1 = math.powf %x, %x : f64
  return %0, %1 : f64, f64
}
