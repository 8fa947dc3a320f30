// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: func.func @ofTheOperand
func.func @ofTheOperand(%x: tensor<2x4x64xbf16>, %g: tensor<2x4x64xbf16>, %w: tensor<64xbf16>)
    -> (tensor<2x4x64xbf16>, tensor<2x4x64xbf16>) {
  // CHECK: ark.norm_input_gradient %{{.+}}, %{{.+}} weight %{{.+}} eps = 1.000000e-05 {centred} : (tensor<2x4x64xbf16>, tensor<2x4x64xbf16>, tensor<64xbf16>) -> tensor<2x4x64xbf16>
  %0 = ark.norm_input_gradient %x, %g weight %w eps = 1.0e-5 {centred}
    : (tensor<2x4x64xbf16>, tensor<2x4x64xbf16>, tensor<64xbf16>) -> tensor<2x4x64xbf16>
  // CHECK: ark.norm_input_gradient %{{.+}}, %{{.+}} eps = 5.000000e-01 : (tensor<2x4x64xbf16>, tensor<2x4x64xbf16>) -> tensor<2x4x64xbf16>
  %1 = ark.norm_input_gradient %x, %g eps = 0.5 : (tensor<2x4x64xbf16>, tensor<2x4x64xbf16>) -> tensor<2x4x64xbf16>
  return %0, %1 : tensor<2x4x64xbf16>, tensor<2x4x64xbf16>
}

// The statistics of a layer norm are mean and scale, those of an RMS norm the scale alone.
// CHECK-LABEL: func.func @statistics
func.func @statistics(%x: tensor<2x4x64xf16>) -> (tensor<2x4x2xf32>, tensor<2x4x1xf32>) {
  // CHECK: ark.norm_statistics %{{.+}} eps = 1.000000e-05 {centred} : (tensor<2x4x64xf16>) -> tensor<2x4x2xf32>
  %0 = ark.norm_statistics %x eps = 1.0e-5 {centred} : (tensor<2x4x64xf16>) -> tensor<2x4x2xf32>
  // CHECK: ark.norm_statistics %{{.+}} eps = 1.000000e-05 : (tensor<2x4x64xf16>) -> tensor<2x4x1xf32>
  %1 = ark.norm_statistics %x eps = 1.0e-5 : (tensor<2x4x64xf16>) -> tensor<2x4x1xf32>
  return %0, %1 : tensor<2x4x2xf32>, tensor<2x4x1xf32>
}
