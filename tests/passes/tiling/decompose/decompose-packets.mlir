// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-decompose))' | FileCheck %s

// A packet holds the bits of the stored type. The body may compute in another type.
// CHECK-LABEL: ark.program @pack
// CHECK: linalg.generic
// CHECK: ^bb0(%[[X:.+]]: f32, %{{.+}}: i64):
// CHECK-NEXT: %[[HALF:.+]] = arith.truncf %[[X]] : f32 to bf16
// CHECK-NEXT: %[[BITS:.+]] = arith.bitcast %[[HALF]] : bf16 to i16
// CHECK-NEXT: %[[DATA:.+]] = arith.extui %[[BITS]] : i16 to i64
// CHECK-NEXT: %[[EPOCH:.+]] = ark.epoch : i32
// CHECK-NEXT: %[[FLAG:.+]] = arith.extui %[[EPOCH]] : i32 to i64
// CHECK-NEXT: %[[C32:.+]] = arith.constant 32 : i64
// CHECK-NEXT: %[[HIGH:.+]] = arith.shli %[[FLAG]], %[[C32]] : i64
// CHECK-NEXT: %[[PACKET:.+]] = arith.ori %[[HIGH]], %[[DATA]] : i64
// CHECK-NEXT: linalg.yield %[[PACKET]] : i64
ark.program @pack(%x: tensor<4xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi64> {ark.name = "y"}) {
  %0 = ark.group "pack" (%a = %x) : (tensor<4xbf16>) -> tensor<4xi64> {
    %1 = ark.pack_packet %a : (tensor<4xbf16>) -> tensor<4xi64>
    ark.yield %1 : tensor<4xi64>
  }
  ark.return %0 : tensor<4xi64>
}

// CHECK-LABEL: ark.program @unpack
// CHECK: ^bb0(%[[PACKET:.+]]: i64, %{{.+}}: f32):
// CHECK-NEXT: %[[BITS:.+]] = arith.trunci %[[PACKET]] : i64 to i16
// CHECK-NEXT: %[[HALF:.+]] = arith.bitcast %[[BITS]] : i16 to bf16
// CHECK-NEXT: %[[X:.+]] = arith.extf %[[HALF]] : bf16 to f32
// CHECK-NEXT: linalg.yield %[[X]] : f32
ark.program @unpack(%p: tensor<4xi64> {ark.kind = #ark.kind<input>, ark.name = "p"})
    -> (tensor<4xbf16> {ark.name = "y"}) {
  %0 = ark.group "unpack" (%a = %p) : (tensor<4xi64>) -> tensor<4xbf16> {
    %1 = ark.unpack_packet %a to bf16 : (tensor<4xi64>) -> tensor<4xbf16>
    ark.yield %1 : tensor<4xbf16>
  }
  ark.return %0 : tensor<4xbf16>
}
