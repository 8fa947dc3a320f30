// The expanded arithmetic is folded for constants that cover every kind of rounding.
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-floats{expand-fp16=true}),inline,canonicalize)' | FileCheck %s

func.func private @narrow_bf16(%x: f32) -> bf16 {
  %0 = arith.truncf %x : f32 to bf16
  return %0 : bf16
}
func.func private @widen_bf16(%x: bf16) -> f32 {
  %0 = arith.extf %x : bf16 to f32
  return %0 : f32
}

func.func private @narrow_f16(%x: f32) -> f16 {
  %0 = arith.truncf %x : f32 to f16
  return %0 : f16
}
func.func private @widen_f16(%x: f16) -> f32 {
  %0 = arith.extf %x : f16 to f32
  return %0 : f32
}

func.func private @narrow_f8E5M2(%x: f32) -> f8E5M2 {
  %0 = arith.truncf %x : f32 to f8E5M2
  return %0 : f8E5M2
}
func.func private @widen_f8E5M2(%x: f8E5M2) -> f32 {
  %0 = arith.extf %x : f8E5M2 to f32
  return %0 : f32
}

func.func private @narrow_f8E4M3FN(%x: f32) -> f8E4M3FN {
  %0 = arith.truncf %x : f32 to f8E4M3FN
  return %0 : f8E4M3FN
}
func.func private @widen_f8E4M3FN(%x: f8E4M3FN) -> f32 {
  %0 = arith.extf %x : f8E4M3FN to f32
  return %0 : f32
}

// CHECK-LABEL: func.func @bf16TieGoesDownToEven
// CHECK-NEXT: %[[R:.+]] = arith.constant 16256 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16TieGoesDownToEven() -> i16 {
  %x = arith.constant 0x3F808000 : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16TieGoesUpToEven
// CHECK-NEXT: %[[R:.+]] = arith.constant 16258 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16TieGoesUpToEven() -> i16 {
  %x = arith.constant 0x3F818000 : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16AboveATieGoesUp
// CHECK-NEXT: %[[R:.+]] = arith.constant 16257 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16AboveATieGoesUp() -> i16 {
  %x = arith.constant 0x3F808001 : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16CarriesIntoTheExponent
// CHECK-NEXT: %[[R:.+]] = arith.constant 16384 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16CarriesIntoTheExponent() -> i16 {
  %x = arith.constant 0x3FFFFFFF : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16Overflows
// CHECK-NEXT: %[[R:.+]] = arith.constant 32640 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16Overflows() -> i16 {
  %x = arith.constant 0x7F7FFFFF : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16MinusZero
// CHECK-NEXT: %[[R:.+]] = arith.constant -32768 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16MinusZero() -> i16 {
  %x = arith.constant 0x80000000 : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16MinusInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant -128 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16MinusInfinity() -> i16 {
  %x = arith.constant 0xFF800000 : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// Truncated, this NaN would be an infinity.
// CHECK-LABEL: func.func @bf16NaNInTheLowBitsStays
// CHECK-NEXT: %[[R:.+]] = arith.constant 32704 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16NaNInTheLowBitsStays() -> i16 {
  %x = arith.constant 0x7F800001 : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// Rounded up, this NaN would be minus zero.
// CHECK-LABEL: func.func @bf16NaNOfAllOnesStays
// CHECK-NEXT: %[[R:.+]] = arith.constant 32767 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16NaNOfAllOnesStays() -> i16 {
  %x = arith.constant 0x7FFFFFFF : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16LeastSubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 1 : i16
// CHECK-NEXT: return %[[R]]
func.func @bf16LeastSubnormal() -> i16 {
  %x = arith.constant 0x00010000 : f32
  %0 = call @narrow_bf16(%x) : (f32) -> bf16
  %1 = arith.bitcast %0 : bf16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @bf16Widens
// CHECK-NEXT: %[[R:.+]] = arith.constant -1068957696 : i32
// CHECK-NEXT: return %[[R]]
func.func @bf16Widens() -> i32 {
  %x = arith.constant 0xC049 : bf16
  %0 = call @widen_bf16(%x) : (bf16) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @f16One
// CHECK-NEXT: %[[R:.+]] = arith.constant 15360 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16One() -> i16 {
  %x = arith.constant 0x3F800000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16TieGoesDownToEven
// CHECK-NEXT: %[[R:.+]] = arith.constant 15360 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16TieGoesDownToEven() -> i16 {
  %x = arith.constant 0x3F801000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16TieGoesUpToEven
// CHECK-NEXT: %[[R:.+]] = arith.constant 15362 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16TieGoesUpToEven() -> i16 {
  %x = arith.constant 0x3F803000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16Largest
// CHECK-NEXT: %[[R:.+]] = arith.constant 31743 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16Largest() -> i16 {
  %x = arith.constant 0x477FE000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16BelowTheTieToInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 31743 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16BelowTheTieToInfinity() -> i16 {
  %x = arith.constant 0x477FEFFF : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16TieToInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 31744 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16TieToInfinity() -> i16 {
  %x = arith.constant 0x477FF000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16MinusLargeOverflows
// CHECK-NEXT: %[[R:.+]] = arith.constant -1024 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16MinusLargeOverflows() -> i16 {
  %x = arith.constant 0xFF7FFFFF : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16LeastNormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 1024 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16LeastNormal() -> i16 {
  %x = arith.constant 0x38800000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16LargestSubnormalRoundsToNormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 1024 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16LargestSubnormalRoundsToNormal() -> i16 {
  %x = arith.constant 0x387FFFFF : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16LeastSubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 1 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16LeastSubnormal() -> i16 {
  %x = arith.constant 0x33800000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16HalfOfTheLeastIsATie
// CHECK-NEXT: %[[R:.+]] = arith.constant 0 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16HalfOfTheLeastIsATie() -> i16 {
  %x = arith.constant 0x33000000 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16MoreThanHalfOfTheLeast
// CHECK-NEXT: %[[R:.+]] = arith.constant 1 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16MoreThanHalfOfTheLeast() -> i16 {
  %x = arith.constant 0x33000001 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16MinusSmallKeepsItsSign
// CHECK-NEXT: %[[R:.+]] = arith.constant -32768 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16MinusSmallKeepsItsSign() -> i16 {
  %x = arith.constant 0x80000001 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16NaN
// CHECK-NEXT: %[[R:.+]] = arith.constant 32256 : i16
// CHECK-NEXT: return %[[R]]
func.func @f16NaN() -> i16 {
  %x = arith.constant 0x7F800001 : f32
  %0 = call @narrow_f16(%x) : (f32) -> f16
  %1 = arith.bitcast %0 : f16 to i16
  return %1 : i16
}

// CHECK-LABEL: func.func @f16WidensASubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 864026624 : i32
// CHECK-NEXT: return %[[R]]
func.func @f16WidensASubnormal() -> i32 {
  %x = arith.constant 0x0001 : f16
  %0 = call @widen_f16(%x) : (f16) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @f16WidensInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant -8388608 : i32
// CHECK-NEXT: return %[[R]]
func.func @f16WidensInfinity() -> i32 {
  %x = arith.constant 0xFC00 : f16
  %0 = call @widen_f16(%x) : (f16) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @f16WidensTheLargest
// CHECK-NEXT: %[[R:.+]] = arith.constant 1199562752 : i32
// CHECK-NEXT: return %[[R]]
func.func @f16WidensTheLargest() -> i32 {
  %x = arith.constant 0x7BFF : f16
  %0 = call @widen_f16(%x) : (f16) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @f8E5M2Largest
// CHECK-NEXT: %[[R:.+]] = arith.constant 123 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2Largest() -> i8 {
  %x = arith.constant 0x47600000 : f32
  %0 = call @narrow_f8E5M2(%x) : (f32) -> f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E5M2TieToInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 124 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2TieToInfinity() -> i8 {
  %x = arith.constant 0x47700000 : f32
  %0 = call @narrow_f8E5M2(%x) : (f32) -> f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E5M2TieGoesUpToEven
// CHECK-NEXT: %[[R:.+]] = arith.constant 62 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2TieGoesUpToEven() -> i8 {
  %x = arith.constant 0x3FB00000 : f32
  %0 = call @narrow_f8E5M2(%x) : (f32) -> f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E5M2LeastSubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 1 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2LeastSubnormal() -> i8 {
  %x = arith.constant 0x37800000 : f32
  %0 = call @narrow_f8E5M2(%x) : (f32) -> f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E5M2NaN
// CHECK-NEXT: %[[R:.+]] = arith.constant -2 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2NaN() -> i8 {
  %x = arith.constant 0xFFC00000 : f32
  %0 = call @narrow_f8E5M2(%x) : (f32) -> f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E5M2WidensInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant 2139095040 : i32
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2WidensInfinity() -> i32 {
  %x = arith.constant 0x7C : f8E5M2
  %0 = call @widen_f8E5M2(%x) : (f8E5M2) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @f8E5M2WidensASubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant -1203765248 : i32
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2WidensASubnormal() -> i32 {
  %x = arith.constant 0x83 : f8E5M2
  %0 = call @widen_f8E5M2(%x) : (f8E5M2) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @f8E4M3FNLargest
// CHECK-NEXT: %[[R:.+]] = arith.constant 126 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNLargest() -> i8 {
  %x = arith.constant 0x43E00000 : f32
  %0 = call @narrow_f8E4M3FN(%x) : (f32) -> f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// 464 is half way between 448, the largest number, and 480, which would be next: 448 is even.
// CHECK-LABEL: func.func @f8E4M3FNTieStaysFinite
// CHECK-NEXT: %[[R:.+]] = arith.constant 126 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNTieStaysFinite() -> i8 {
  %x = arith.constant 0x43E80000 : f32
  %0 = call @narrow_f8E4M3FN(%x) : (f32) -> f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// f8E4M3FN has no infinity.
// CHECK-LABEL: func.func @f8E4M3FNOverflowsToNaN
// CHECK-NEXT: %[[R:.+]] = arith.constant 127 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNOverflowsToNaN() -> i8 {
  %x = arith.constant 0x43E80001 : f32
  %0 = call @narrow_f8E4M3FN(%x) : (f32) -> f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E4M3FNOfMinusInfinity
// CHECK-NEXT: %[[R:.+]] = arith.constant -1 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNOfMinusInfinity() -> i8 {
  %x = arith.constant 0xFF800000 : f32
  %0 = call @narrow_f8E4M3FN(%x) : (f32) -> f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E4M3FNLeastSubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 1 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNLeastSubnormal() -> i8 {
  %x = arith.constant 0x3B000000 : f32
  %0 = call @narrow_f8E4M3FN(%x) : (f32) -> f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E4M3FNLargestSubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 7 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNLargestSubnormal() -> i8 {
  %x = arith.constant 0x3C600000 : f32
  %0 = call @narrow_f8E4M3FN(%x) : (f32) -> f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E4M3FNSubnormalRoundsToNormal
// CHECK-NEXT: %[[R:.+]] = arith.constant 8 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNSubnormalRoundsToNormal() -> i8 {
  %x = arith.constant 0x3C780000 : f32
  %0 = call @narrow_f8E4M3FN(%x) : (f32) -> f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}

// CHECK-LABEL: func.func @f8E4M3FNWidensTheLargest
// CHECK-NEXT: %[[R:.+]] = arith.constant 1138753536 : i32
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNWidensTheLargest() -> i32 {
  %x = arith.constant 0x7E : f8E4M3FN
  %0 = call @widen_f8E4M3FN(%x) : (f8E4M3FN) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// CHECK-LABEL: func.func @f8E4M3FNWidensASubnormal
// CHECK-NEXT: %[[R:.+]] = arith.constant -1157627904 : i32
// CHECK-NEXT: return %[[R]]
func.func @f8E4M3FNWidensASubnormal() -> i32 {
  %x = arith.constant 0x81 : f8E4M3FN
  %0 = call @widen_f8E4M3FN(%x) : (f8E4M3FN) -> f32
  %1 = arith.bitcast %0 : f32 to i32
  return %1 : i32
}

// Integers and other narrow floats are converted through f32. 17 is half way
// between 16 and 18; 2^24 + 1 is rounded in f32, far beyond the largest number.
func.func private @integer_f8E4M3FN(%x: i32) -> i8 {
  %0 = arith.sitofp %x : i32 to f8E4M3FN
  %1 = arith.bitcast %0 : f8E4M3FN to i8
  return %1 : i8
}
// CHECK-LABEL: func.func @f8E4M3FNOfIntegers
// CHECK-DAG: %[[TIE:.+]] = arith.constant 88 : i8
// CHECK-DAG: %[[LARGE:.+]] = arith.constant 127 : i8
// CHECK-DAG: %[[NEGATIVE:.+]] = arith.constant -8 : i8
// CHECK: return %[[TIE]], %[[LARGE]], %[[NEGATIVE]]
func.func @f8E4M3FNOfIntegers() -> (i8, i8, i8) {
  %tie = arith.constant 17 : i32
  %large = arith.constant 16777217 : i32
  %negative = arith.constant -256 : i32
  %0 = call @integer_f8E4M3FN(%tie) : (i32) -> i8
  %1 = call @integer_f8E4M3FN(%large) : (i32) -> i8
  %2 = call @integer_f8E4M3FN(%negative) : (i32) -> i8
  return %0, %1, %2 : i8, i8, i8
}

// As a signed byte, 200 would be -56. Between 192 and 224, 200 is nearer to 192.
func.func private @unsigned_f8E5M2(%x: i8) -> i8 {
  %0 = arith.uitofp %x : i8 to f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}
// CHECK-LABEL: func.func @f8E5M2OfAnUnsignedByte
// CHECK-NEXT: %[[R:.+]] = arith.constant 90 : i8
// CHECK-NEXT: return %[[R]]
func.func @f8E5M2OfAnUnsignedByte() -> i8 {
  %x = arith.constant -56 : i8
  %0 = call @unsigned_f8E5M2(%x) : (i8) -> i8
  return %0 : i8
}

func.func private @half_f8E5M2(%x: f16) -> i8 {
  %0 = arith.truncf %x : f16 to f8E5M2
  %1 = arith.bitcast %0 : f8E5M2 to i8
  return %1 : i8
}
// 1.125 is a tie; the next larger f16 is not.
// CHECK-LABEL: func.func @f8E5M2OfHalves
// CHECK-DAG: %[[TIE:.+]] = arith.constant 60 : i8
// CHECK-DAG: %[[ABOVE:.+]] = arith.constant 61 : i8
// CHECK: return %[[TIE]], %[[ABOVE]]
func.func @f8E5M2OfHalves() -> (i8, i8) {
  %tie = arith.constant 0x3C80 : f16
  %above = arith.constant 0x3C81 : f16
  %0 = call @half_f8E5M2(%tie) : (f16) -> i8
  %1 = call @half_f8E5M2(%above) : (f16) -> i8
  return %0, %1 : i8, i8
}

func.func private @f8E4M3FN_integer(%x: f8E4M3FN) -> i32 {
  %0 = arith.fptosi %x : f8E4M3FN to i32
  return %0 : i32
}
// CHECK-LABEL: func.func @integerOfF8E4M3FN
// CHECK-NEXT: %[[R:.+]] = arith.constant -448 : i32
// CHECK-NEXT: return %[[R]]
func.func @integerOfF8E4M3FN() -> i32 {
  %x = arith.constant 0xFE : f8E4M3FN
  %0 = call @f8E4M3FN_integer(%x) : (f8E4M3FN) -> i32
  return %0 : i32
}
