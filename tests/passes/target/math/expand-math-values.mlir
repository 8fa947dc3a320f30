// The formulas are folded for constants. The results are the values that IEEE 754 requires.
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math{fma=false}),inline,canonicalize)' | FileCheck %s

func.func private @exp(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}
func.func private @tanh(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}
func.func private @erf(%x: f32) -> f32 {
  %0 = math.erf %x : f32
  return %0 : f32
}
func.func private @log(%x: f32) -> f32 {
  %0 = math.log %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @expOfZero
// CHECK-NEXT: %[[R:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @expOfZero() -> f32 {
  %x = arith.constant 0.0 : f32
  %0 = call @exp(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @expOfInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7F800000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @expOfInfinity() -> f32 {
  %x = arith.constant 0x7F800000 : f32
  %0 = call @exp(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @expOfMinusInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @expOfMinusInfinity() -> f32 {
  %x = arith.constant 0xFF800000 : f32
  %0 = call @exp(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @expOfNaN
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @expOfNaN() -> f32 {
  %x = arith.constant 0x7FC00000 : f32
  %0 = call @exp(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @expOverflows
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7F800000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @expOverflows() -> f32 {
  %x = arith.constant 89.0 : f32
  %0 = call @exp(%x) : (f32) -> f32
  return %0 : f32
}

// The result is the smallest positive number.
// CHECK-LABEL: func.func @expKeepsSubnormals
// CHECK-NEXT: %[[R:.+]] = arith.constant 1.401300e-45 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @expKeepsSubnormals() -> f32 {
  %x = arith.constant -103.0 : f32
  %0 = call @exp(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @expUnderflows
// CHECK-NEXT: %[[R:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @expUnderflows() -> f32 {
  %x = arith.constant -104.0 : f32
  %0 = call @exp(%x) : (f32) -> f32
  return %0 : f32
}

// The polynomial near zero ends in +0 + -0, which is not -0.
// CHECK-LABEL: func.func @tanhOfMinusZero
// CHECK-NEXT: %[[R:.+]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @tanhOfMinusZero() -> f32 {
  %x = arith.constant -0.0 : f32
  %0 = call @tanh(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @tanhOfInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @tanhOfInfinity() -> f32 {
  %x = arith.constant 0x7F800000 : f32
  %0 = call @tanh(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @tanhOfMinusInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant -1.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @tanhOfMinusInfinity() -> f32 {
  %x = arith.constant 0xFF800000 : f32
  %0 = call @tanh(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @tanhOfNaN
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @tanhOfNaN() -> f32 {
  %x = arith.constant 0x7FC00000 : f32
  %0 = call @tanh(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @tanhOfASubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 1.401300e-45 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @tanhOfASubnormal() -> f32 {
  %x = arith.constant 0x00000001 : f32
  %0 = call @tanh(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @erfOfMinusZero
// CHECK-NEXT: %[[R:.+]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @erfOfMinusZero() -> f32 {
  %x = arith.constant -0.0 : f32
  %0 = call @erf(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @erfOfInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 1.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @erfOfInfinity() -> f32 {
  %x = arith.constant 0x7F800000 : f32
  %0 = call @erf(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @erfOfMinusInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant -1.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @erfOfMinusInfinity() -> f32 {
  %x = arith.constant 0xFF800000 : f32
  %0 = call @erf(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @erfOfNaN
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @erfOfNaN() -> f32 {
  %x = arith.constant 0x7FC00000 : f32
  %0 = call @erf(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @logOfOne
// CHECK-NEXT: %[[R:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfOne() -> f32 {
  %x = arith.constant 1.0 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @logOfZero
// CHECK-NEXT: %[[R:.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfZero() -> f32 {
  %x = arith.constant 0.0 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @logOfMinusZero
// CHECK-NEXT: %[[R:.+]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfMinusZero() -> f32 {
  %x = arith.constant -0.0 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @logOfANegativeNumber
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfANegativeNumber() -> f32 {
  %x = arith.constant -1.0 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @logOfMinusInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfMinusInfinity() -> f32 {
  %x = arith.constant 0xFF800000 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @logOfInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7F800000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfInfinity() -> f32 {
  %x = arith.constant 0x7F800000 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}

// CHECK-LABEL: func.func @logOfNaN
// CHECK-NEXT: %[[R:.+]] = arith.constant 0x7FC00000 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfNaN() -> f32 {
  %x = arith.constant 0x7FC00000 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}

// The operand is 2^-149.
// CHECK-LABEL: func.func @logOfASubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant {{-103.2789[0-9]+}} : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @logOfASubnormal() -> f32 {
  %x = arith.constant 0x00000001 : f32
  %0 = call @log(%x) : (f32) -> f32
  return %0 : f32
}
