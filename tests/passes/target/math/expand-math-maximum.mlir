// The maximum and the minimum of two f32 are instructions, also those that the expansion of other functions creates.
// Other types are left to `arith-expand`.

// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math{maximum=true exp2=true}))' | FileCheck %s
// RUN: ark-opt %s --pass-pipeline='builtin.module(func.func(ark-expand-math{exp2=true}))' | FileCheck %s --check-prefix=WITHOUT

// CHECK-LABEL: func.func @extremes
// CHECK-SAME: (%[[X:.+]]: f32, %[[Y:.+]]: f32)
// CHECK: %[[MORE:.+]] = llvm.intr.maximum(%[[X]], %[[Y]])
// CHECK: %[[LESS:.+]] = llvm.intr.minimum(%[[MORE]], %[[Y]])
// CHECK: return %[[LESS]]
// WITHOUT-LABEL: func.func @extremes
// WITHOUT: arith.maximumf
// WITHOUT: arith.minimumf
func.func @extremes(%x: f32, %y: f32) -> f32 {
  %more = arith.maximumf %x, %y : f32
  %less = arith.minimumf %more, %y : f32
  return %less : f32
}

// CHECK-LABEL: func.func @exp
// CHECK: llvm.intr.maximum
// CHECK: llvm.intr.minimum
// CHECK-NOT: arith.maximumf
// CHECK: math.exp2
func.func @exp(%x: f32) -> f32 {
  %y = math.exp %x : f32
  return %y : f32
}

// CHECK-LABEL: func.func @other_types
// CHECK: arith.maximumf %{{.*}} : f64
// CHECK: arith.minimumf %{{.*}} : bf16
func.func @other_types(%x: f64, %z: f64, %y: bf16, %w: bf16) -> (f64, bf16) {
  %a = arith.maximumf %x, %z : f64
  %b = arith.minimumf %y, %w : bf16
  return %a, %b : f64, bf16
}
