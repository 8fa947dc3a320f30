// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-floats{native-fp8=true expand-bf16-rounding=false},canonicalize,cse))' | FileCheck %s

// A scalar is converted as a pair with zero bits.
// CHECK-LABEL: func.func @scalar
// CHECK-SAME: (%[[X:.+]]: f8E4M3FN)
// CHECK: %[[BITS:.+]] = arith.bitcast %[[X]] : f8E4M3FN to i8
// CHECK: %[[TWO:.+]] = arith.extui %[[BITS]] : i8 to i16
// CHECK: %[[PAIR:.+]] = llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"(%[[TWO]]) : (i16) -> vector<2xf16>
// CHECK: %[[HALF:.+]] = vector.extract %[[PAIR]][0] : f16 from vector<2xf16>
// CHECK: %[[WIDE:.+]] = arith.extf %[[HALF]] : f16 to f32
// CHECK: return %[[WIDE]]
func.func @scalar(%x: f8E4M3FN) -> f32 {
  %0 = arith.extf %x : f8E4M3FN to f32
  return %0 : f32
}

// Two neighbouring elements of a vector are converted as one pair.
// CHECK-LABEL: func.func @neighbours
// CHECK-SAME: (%[[X:.+]]: vector<4xf8E5M2>)
// CHECK: %[[PAIRS:.+]] = vector.bitcast %[[X]] : vector<4xf8E5M2> to vector<2xi16>
// CHECK: %[[ONE:.+]] = vector.extract %[[PAIRS]][1]
// CHECK: %[[PAIR:.+]] = llvm.call_intrinsic "llvm.nvvm.e5m2x2.to.f16x2.rn"(%[[ONE]])
// CHECK: vector.extract %[[PAIR]][0]
// CHECK: vector.extract %{{.+}}[1] : f16 from vector<2xf16>
func.func @neighbours(%x: vector<4xf8E5M2>) -> (f32, f16) {
  %0 = vector.extract %x[2] : f8E5M2 from vector<4xf8E5M2>
  %1 = vector.extract %x[3] : f8E5M2 from vector<4xf8E5M2>
  %2 = arith.extf %0 : f8E5M2 to f32
  %3 = arith.extf %1 : f8E5M2 to f16
  return %2, %3 : f32, f16
}

// CHECK-LABEL: func.func @vector
// CHECK-COUNT-2: llvm.call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"
// CHECK-NOT: llvm.call_intrinsic
// CHECK: %[[HALVES:.+]] = vector.from_elements {{.+}} : vector<4xf16>
// CHECK: %[[WIDE:.+]] = arith.extf %[[HALVES]] : vector<4xf16> to vector<4xf32>
// CHECK: arith.truncf %[[WIDE]] : vector<4xf32> to vector<4xbf16>
func.func @vector(%x: vector<4xf8E4M3FN>) -> vector<4xbf16> {
  %0 = arith.extf %x : vector<4xf8E4M3FN> to vector<4xbf16>
  return %0 : vector<4xbf16>
}

// Two conversions are expanded into arithmetic: that of a vector of odd length, and that to fp8, for which the
// instructions would saturate at the largest number.
// CHECK-LABEL: func.func @expanded
// CHECK-NOT: llvm.call_intrinsic
// CHECK: return
func.func @expanded(%x: vector<3xf8E4M3FN>, %y: f32) -> (vector<3xf32>, f8E5M2) {
  %0 = arith.extf %x : vector<3xf8E4M3FN> to vector<3xf32>
  %1 = arith.truncf %y : f32 to f8E5M2
  return %0, %1 : vector<3xf32>, f8E5M2
}
