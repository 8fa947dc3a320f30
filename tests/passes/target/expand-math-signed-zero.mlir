// tanh keeps the sign of zero: IEEE 754 asks for it. The polynomial near zero
// ends in fma(+0, -0, -0), which is +0.
// XFAIL: *
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math{fma=false}),inline,canonicalize)' | FileCheck %s

func.func private @tanh(%x: f32) -> f32 {
  %0 = math.tanh %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @tanhOfMinusZero
// CHECK-NEXT: %[[R:.+]] = arith.constant -0.000000e+00 : f32
// CHECK-NEXT: return %[[R]] : f32
func.func @tanhOfMinusZero() -> f32 {
  %x = arith.constant -0.0 : f32
  %0 = call @tanh(%x) : (f32) -> f32
  return %0 : f32
}
