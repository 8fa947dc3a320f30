// RUN: ark-opt %s | FileCheck %s

// A product of fp8 and a wider float has the wider type; a product of two fp8 operands has type f32.
// CHECK-LABEL: func.func @types
func.func @types(%x: tensor<4x8xbf16>, %h: tensor<8x4xf16>, %w: tensor<8x8xf8E4M3FN>, %v: tensor<8x8xf8E5M2>) {
  // CHECK: ark.matmul %{{.+}} : (tensor<4x8xbf16>, tensor<8x8xf8E4M3FN>) -> tensor<4x8xbf16>
  %0 = ark.matmul %x, %w : (tensor<4x8xbf16>, tensor<8x8xf8E4M3FN>) -> tensor<4x8xbf16>
  // CHECK: ark.matmul %{{.+}} : (tensor<8x8xf8E5M2>, tensor<8x4xf16>) -> tensor<8x4xf16>
  %1 = ark.matmul %v, %h : (tensor<8x8xf8E5M2>, tensor<8x4xf16>) -> tensor<8x4xf16>
  // CHECK: ark.matmul %{{.+}} : (tensor<8x8xf8E5M2>, tensor<8x8xf8E4M3FN>) -> tensor<8x8xf32>
  %2 = ark.matmul %v, %w : (tensor<8x8xf8E5M2>, tensor<8x8xf8E4M3FN>) -> tensor<8x8xf32>
  return
}
