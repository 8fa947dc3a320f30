// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: func.func @packets
func.func @packets(%x: tensor<2x3xbf16>) -> tensor<2x3xbf16> {
  // CHECK: %[[P:.+]] = ark.pack_packet %{{.+}} : (tensor<2x3xbf16>) -> tensor<2x3xi64>
  %0 = ark.pack_packet %x : (tensor<2x3xbf16>) -> tensor<2x3xi64>
  // CHECK: ark.unpack_packet %[[P]] to bf16 : (tensor<2x3xi64>) -> tensor<2x3xbf16>
  %1 = ark.unpack_packet %0 to bf16 : (tensor<2x3xi64>) -> tensor<2x3xbf16>
  return %1 : tensor<2x3xbf16>
}

// CHECK-LABEL: func.func @epoch
func.func @epoch() -> i32 {
  // CHECK: ark.epoch : i32
  %0 = ark.epoch : i32
  return %0 : i32
}
