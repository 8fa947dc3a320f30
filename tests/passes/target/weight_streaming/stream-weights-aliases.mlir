// Products and residuals are read before the loop over vCTAs unless an earlier op of the loop may write them. The output
// below is filled before both reads. Without `llvm.noalias`, it may overlap the row and the residual.
// DEFINE: %{kernel} = ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(ark-expand-norms,func.func(linalg-generalize-named-ops),ark-hoist-invariants)'
// DEFINE: %{stream} = ark-opt --split-input-file --pass-pipeline='builtin.module(ark-stream-weights)'
// RUN: %{kernel} | %{stream} | FileCheck %s --check-prefixes=CHECK,APART
// RUN: %{kernel} | sed 's/, llvm.noalias//g' | %{stream} | FileCheck %s --check-prefixes=CHECK,OVERLAP

// CHECK-LABEL: func.func private @body_matmul(
// APART: call @body_matmul_stream(
// OVERLAP-NOT: call @body_matmul_stream(
// CHECK: scf.for
// CHECK: linalg.generic {{.+}} ins(%{{.+}} : f32) outs(%[[OUT:.+]] : memref<1x1xf32
// OVERLAP: linalg.generic {{.+}} "reduction"]} ins(%{{.+}}, %{{.+}}) outs(%[[OUT]] : memref<1x1xf32
// CHECK: return
ark.program @row(%x: tensor<1x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x512xf32>, tensor<64x512xf32>) -> tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// The row is a temporary of the body, so the product is streamed with and without `llvm.noalias`.
// CHECK-LABEL: func.func private @body_rmsnorm_matmul_add(
// CHECK-SAME: %[[RESIDUAL:[^ ]+]]: memref<1x64xf32> {{[^%]+}}, %{{[^ ]+}}: memref<1x64xf32> {{[^%]+}})
// APART: call @body_rmsnorm_matmul_add_stream(%{{.+}}, %[[RESIDUAL]], %{{.+}}) {ark.cta_collective = 2 : i64}
// OVERLAP: call @body_rmsnorm_matmul_add_stream(%{{.+}}) {ark.cta_collective = 1 : i64}
// CHECK: scf.for
// OVERLAP: %[[TILE:.+]] = memref.subview %[[RESIDUAL]]
// OVERLAP: ins(%[[TILE]] :
// CHECK: return
ark.program @residual(%x: tensor<1x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %r: tensor<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "r"},
    %g: tensor<512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "g"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.rmsnorm %x weight %g eps = 1.0e-5 : (tensor<1x512xf32>, tensor<512xf32>) -> tensor<1x512xf32>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<1x512xf32>, tensor<64x512xf32>) -> tensor<1x64xf32>
  %2 = ark.add %1, %r : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
  ark.return %2 : tensor<1x64xf32>
}
