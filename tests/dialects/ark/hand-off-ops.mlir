// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: ark.program @packets
ark.program @packets(%y: memref<4x4xbf16> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // CHECK: %[[PACKETS:.+]] = ark.packets : memref<64xi8>
  %packets = ark.packets : memref<64xi8>
  %c0 = arith.constant 0 : index
  // CHECK: memref.view %[[PACKETS]]
  %p = memref.view %packets[%c0][] : memref<64xi8> to memref<4x4xi32>
  ark.return
}

// CHECK-LABEL: func.func @receive
func.func @receive(%p: memref<4x4xi32, strided<[4, 1], offset: ?>>, %v: memref<4x4xbf16>, %h: memref<4x4xf16>) {
  // CHECK: ark.receive_packets %{{.+}} to %{{.+}} : memref<4x4xi32, strided<[4, 1], offset: ?>> to memref<4x4xbf16>
  ark.receive_packets %p to %v : memref<4x4xi32, strided<[4, 1], offset: ?>> to memref<4x4xbf16>
  // CHECK: ark.receive_packets %{{.+}} to %{{.+}} : memref<4x4xi32, strided<[4, 1], offset: ?>> to memref<4x4xf16>
  ark.receive_packets %p to %h : memref<4x4xi32, strided<[4, 1], offset: ?>> to memref<4x4xf16>
  return
}
