// RUN: ark-opt %s | FileCheck %s

// CHECK-LABEL: func.func @windowsOverRows
func.func @windowsOverRows(%f: tensor<16x64x3x3xf16>, %x: tensor<2x64x30x8xf16>) {
  // CHECK: ark.convolution %{{.+}}, %{{.+}} stride = 3 dilation = 3 : (tensor<16x64x3x3xf16>, tensor<2x64x30x8xf16>) -> tensor<2x16x8x8xf16>
  %0 = ark.convolution %f, %x stride = 3 dilation = 3
      : (tensor<16x64x3x3xf16>, tensor<2x64x30x8xf16>) -> tensor<2x16x8x8xf16>
  return
}

// Each of two groups has its own filters. The last two rows of the image are in no window.
// CHECK-LABEL: func.func @groups
func.func @groups(%f: tensor<2x8x4x3x2xbf16>, %x: tensor<5x2x4x24x13xbf16>) {
  // CHECK: ark.convolution {{.*}} -> tensor<5x2x8x5x13xbf16>
  %0 = ark.convolution %f, %x stride = 4 dilation = 2
      : (tensor<2x8x4x3x2xbf16>, tensor<5x2x4x24x13xbf16>) -> tensor<5x2x8x5x13xbf16>
  return
}
