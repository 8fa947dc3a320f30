// RUN: ark-opt %s --verify-roundtrip | FileCheck %s

// CHECK-LABEL: func.func @eightBits
// CHECK: ark.quantized_matmul %{{.+}}, %{{.+}} scales %{{.+}} : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x4xf32>) -> tensor<2x8xbf16>
func.func @eightBits(%x: tensor<2x64xbf16>, %w: tensor<8x64xf8E4M3FN>, %s: tensor<8x4xf32>) -> tensor<2x8xbf16> {
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x4xf32>) -> tensor<2x8xbf16>
  return %0 : tensor<2x8xbf16>
}

// CHECK-LABEL: func.func @fourBits
// CHECK: ark.quantized_matmul %{{.+}}, %{{.+}} scales %{{.+}} zeros %{{.+}} :
func.func @fourBits(%x: tensor<2x64xf32>, %w: tensor<8x32xi8>, %s: tensor<8x4xf16>, %z: tensor<8x4xi8>) -> tensor<2x8xf32> {
  %0 = ark.quantized_matmul %x, %w scales %s zeros %z : (tensor<2x64xf32>, tensor<8x32xi8>, tensor<8x4xf16>, tensor<8x4xi8>) -> tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
