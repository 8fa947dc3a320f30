// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-floats))' | FileCheck %s --check-prefixes=CHECK,NATIVE
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-floats{expand-fp16=true}))' | FileCheck %s --check-prefixes=CHECK,HALVES
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-floats{expand-bf16-rounding=false}))' | FileCheck %s --check-prefix=ROUNDS

// bf16 is the upper half of f32.
// CHECK-LABEL: func.func @extendBF16
// CHECK-SAME: (%[[X:.+]]: bf16) -> f32
// CHECK-NEXT: %[[SIXTEEN:.+]] = arith.constant 16 : i32
// CHECK-NEXT: %[[BITS:.+]] = arith.bitcast %[[X]] : bf16 to i16
// CHECK-NEXT: %[[WIDE:.+]] = arith.extui %[[BITS]] : i16 to i32
// CHECK-NEXT: %[[SHIFTED:.+]] = arith.shli %[[WIDE]], %[[SIXTEEN]] : i32
// CHECK-NEXT: %[[R:.+]] = arith.bitcast %[[SHIFTED]] : i32 to f32
// CHECK-NEXT: return %[[R]] : f32
func.func @extendBF16(%x: bf16) -> f32 {
  %0 = arith.extf %x : bf16 to f32
  return %0 : f32
}

// If the processor has a rounding instruction, truncation stays an op; extension is a shift in any case.
// ROUNDS-LABEL: func.func @extendBF16
// ROUNDS: arith.shli
// ROUNDS-LABEL: func.func @truncateBF16
// ROUNDS-SAME: (%[[X:.+]]: f32)
// ROUNDS-NEXT: %[[R:.+]] = arith.truncf %[[X]] : f32 to bf16
// ROUNDS-NEXT: return %[[R]]
// CHECK-LABEL: func.func @truncateBF16
// CHECK-NOT: arith.truncf
// CHECK: %[[BITS:.+]] = arith.trunci %{{.+}} : i32 to i16
// CHECK-NEXT: %[[R:.+]] = arith.bitcast %[[BITS]] : i16 to bf16
// CHECK-NEXT: return %[[R]] : bf16
func.func @truncateBF16(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}

// CHECK-LABEL: func.func @eightBits
// CHECK-NOT: {{extf|truncf}}
// CHECK: arith.bitcast %{{.+}} : f8E4M3FN to i8
// CHECK-NOT: {{extf|truncf}}
// CHECK: arith.bitcast %{{.+}} : i8 to f8E5M2
// CHECK-NOT: {{extf|truncf}}
// CHECK: return
func.func @eightBits(%x: f8E4M3FN) -> f8E5M2 {
  %0 = arith.extf %x : f8E4M3FN to f32
  %1 = arith.truncf %0 : f32 to f8E5M2
  return %1 : f8E5M2
}

// CHECK-LABEL: func.func @vectors
// CHECK-NOT: {{extf|truncf}}
// CHECK: arith.bitcast %{{.+}} : vector<8xbf16> to vector<8xi16>
// CHECK: arith.bitcast %{{.+}} : vector<8xi16> to vector<8xbf16>
func.func @vectors(%x: vector<8xbf16>) -> vector<8xbf16> {
  %0 = arith.extf %x : vector<8xbf16> to vector<8xf32>
  %1 = arith.addf %0, %0 : vector<8xf32>
  %2 = arith.truncf %1 : vector<8xf32> to vector<8xbf16>
  return %2 : vector<8xbf16>
}

// Most processors convert fp16 in hardware.
// CHECK-LABEL: func.func @halves
// NATIVE: arith.extf %{{.+}} : f16 to f32
// NATIVE: arith.truncf %{{.+}} : f32 to f16
// HALVES-NOT: {{extf|truncf}}
// HALVES: arith.bitcast %{{.+}} : i16 to f16
// HALVES-NOT: {{extf|truncf}}
// HALVES: return
func.func @halves(%x: f16) -> f16 {
  %0 = arith.extf %x : f16 to f32
  %1 = arith.addf %0, %0 : f32
  %2 = arith.truncf %1 : f32 to f16
  return %2 : f16
}

// CHECK-LABEL: func.func @wideFloats
// CHECK: arith.extf %{{.+}} : f32 to f64
// CHECK: arith.truncf %{{.+}} : f64 to f32
func.func @wideFloats(%x: f32) -> f32 {
  %0 = arith.extf %x : f32 to f64
  %1 = arith.addf %0, %0 : f64
  %2 = arith.truncf %1 : f64 to f32
  return %2 : f32
}

// Canonicalisation merges a conversion through f32 into this op, for which MLIR has no lowering.
// CHECK-LABEL: func.func @betweenNarrowFloats
// CHECK-NOT: arith.truncf %{{.+}} : {{(f16|bf16)}} to
// CHECK: arith.bitcast %{{.+}} : i8 to f8E4M3FN
// CHECK-NOT: arith.truncf %{{.+}} : {{(f16|bf16)}} to
// CHECK: arith.bitcast %{{.+}} : i8 to f8E5M2
// CHECK: return
func.func @betweenNarrowFloats(%x: f16, %y: bf16) -> (f8E4M3FN, f8E5M2) {
  %0 = arith.truncf %x : f16 to f8E4M3FN
  %1 = arith.truncf %y : bf16 to f8E5M2
  return %0, %1 : f8E4M3FN, f8E5M2
}

// CHECK-LABEL: func.func @fromEightBits
// CHECK-NOT: arith.extf %{{.+}} : {{f8.+}} to
// CHECK: %[[H:.+]] = {{arith.truncf %.+ : f32 to f16|arith.bitcast %.+ : i16 to f16}}
// CHECK-NOT: arith.extf
// CHECK: %[[B:.+]] = arith.bitcast %{{.+}} : i16 to bf16
// CHECK: return %[[H]], %[[B]]
func.func @fromEightBits(%x: f8E4M3FN, %y: f8E5M2) -> (f16, bf16) {
  %0 = arith.extf %x : f8E4M3FN to f16
  %1 = arith.extf %y : f8E5M2 to bf16
  return %0, %1 : f16, bf16
}

// CHECK-LABEL: func.func @integersToNarrowFloats
// CHECK: arith.sitofp %{{.+}} : i32 to f32
// CHECK: arith.bitcast %{{.+}} : i8 to f8E4M3FN
// CHECK: arith.uitofp %{{.+}} : i8 to f32
// CHECK: arith.bitcast %{{.+}} : i8 to f8E5M2
// CHECK: arith.sitofp %{{.+}} : i64 to f32
// CHECK: arith.bitcast %{{.+}} : i16 to bf16
func.func @integersToNarrowFloats(%a: i32, %b: i8, %c: i64)
    -> (f8E4M3FN, f8E5M2, bf16) {
  %0 = arith.sitofp %a : i32 to f8E4M3FN
  %1 = arith.uitofp %b : i8 to f8E5M2
  %2 = arith.sitofp %c : i64 to bf16
  return %0, %1, %2 : f8E4M3FN, f8E5M2, bf16
}

// f32 rounds the integer first: otherwise MLIR would merge this op and an
// instruction that rounds to bf16 into one conversion.
// ROUNDS-LABEL: func.func @integersToBF16
// ROUNDS: arith.uitofp %{{.+}} : i32 to f32
// ROUNDS-NOT: arith.truncf
// ROUNDS: arith.bitcast %{{.+}} : i16 to bf16
// ROUNDS: arith.sitofp %{{.+}} : i16 to f32
// ROUNDS: arith.truncf
func.func @integersToBF16(%a: i32, %b: i16) -> (bf16, bf16) {
  %0 = arith.uitofp %a : i32 to bf16
  %1 = arith.sitofp %b : i16 to bf16
  return %0, %1 : bf16, bf16
}

// An i1 selects one of two constants.
// CHECK-LABEL: func.func @booleans
// CHECK-SAME: %[[BIT:.+]]: i1, %[[BITS:.+]]: vector<4xi1>
// CHECK-NOT: arith.uitofp
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG: %[[ONES:.+]] = arith.constant dense<1.000000e+00> : vector<4xbf16>
// CHECK-DAG: %[[ZEROS:.+]] = arith.constant dense<0.000000e+00> : vector<4xbf16>
// CHECK-DAG: arith.select %[[BIT]], %[[ONE]], %[[ZERO]] : f32
// CHECK-DAG: arith.select %[[BIT]], %{{.+}}, %{{.+}} : f8E4M3FN
// CHECK-DAG: arith.select %[[BITS]], %[[ONES]], %[[ZEROS]] : vector<4xi1>, vector<4xbf16>
func.func @booleans(%a: i1, %b: vector<4xi1>) -> (f32, f8E4M3FN, vector<4xbf16>) {
  %0 = arith.uitofp %a : i1 to f32
  %1 = arith.uitofp %a : i1 to f8E4M3FN
  %2 = arith.uitofp %b : vector<4xi1> to vector<4xbf16>
  return %0, %1, %2 : f32, f8E4M3FN, vector<4xbf16>
}

// A wider integer that extends an i1 is also a selection; a signed i1 is minus one.
// CHECK-LABEL: func.func @booleansToWiderIntegers
// CHECK-SAME: %[[BIT:.+]]: i1) ->
// CHECK-DAG: %[[ONE:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[A:.+]] = arith.select %[[BIT]], %[[ONE]], %[[ZERO]] : f32
// CHECK: %[[B:.+]] = arith.select %[[BIT]], %[[ONE]], %[[ZERO]] : f32
// CHECK: %[[C:.+]] = arith.sitofp %[[BIT]] : i1 to f32
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @booleansToWiderIntegers(%a: i1) -> (f32, f32, f32) {
  %one = arith.constant 1 : i8
  %none = arith.constant 0 : i8
  %0 = arith.extui %a : i1 to i32
  %1 = arith.sitofp %0 : i32 to f32
  %2 = arith.select %a, %one, %none : i8
  %3 = arith.uitofp %2 : i8 to f32
  %4 = arith.sitofp %a : i1 to f32
  return %1, %3, %4 : f32, f32, f32
}

// CHECK-LABEL: func.func @narrowFloatsToIntegers
// CHECK: arith.bitcast %{{.+}} : f8E4M3FN to i8
// CHECK: arith.fptosi %{{.+}} : f32 to i32
// CHECK: arith.bitcast %{{.+}} : bf16 to i16
// CHECK: arith.fptoui %{{.+}} : f32 to i8
func.func @narrowFloatsToIntegers(%x: f8E4M3FN, %y: bf16) -> (i32, i8) {
  %0 = arith.fptosi %x : f8E4M3FN to i32
  %1 = arith.fptoui %y : bf16 to i8
  return %0, %1 : i32, i8
}

// CHECK-LABEL: func.func @integersToHalves
// NATIVE: arith.sitofp %{{.+}} : i32 to f16
// HALVES: arith.sitofp %{{.+}} : i32 to f32
// HALVES: arith.bitcast %{{.+}} : i16 to f16
func.func @integersToHalves(%x: i32) -> f16 {
  %0 = arith.sitofp %x : i32 to f16
  return %0 : f16
}
