// A multiplication and an addition become an fma, with one rounding.
// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-compile-to=target | FileCheck %s

// CHECK-LABEL: llvm.func internal @body_matmul(
// CHECK: %[[PRODUCT:.+]] = llvm.fmul %{{.+}}, %{{.+}} {fastmathFlags = #llvm.fastmath<contract>} : f32
// CHECK-NEXT: llvm.fadd %{{.+}}, %[[PRODUCT]] {fastmathFlags = #llvm.fastmath<contract, reassoc>} : f32
ark.program @matvec(%x: tensor<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
                    %w: tensor<32x64xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<1x32xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<1x64xf32>, tensor<32x64xf32>) -> tensor<1x32xf32>
  ark.return %0 : tensor<1x32xf32>
}
