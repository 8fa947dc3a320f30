// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: func.func @everyPrimitive
func.func @everyPrimitive(%a: memref<16xf32>, %b: memref<16xf32>) {
  // CHECK: %[[C:.+]] = ark.channel.open peer = 1 tag = 0 : !ark.channel
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // CHECK: ark.channel.put %[[C]], %{{.+}}, %{{.+}} : !ark.channel, memref<16xf32>, memref<16xf32>
  ark.channel.put %c, %a, %b : !ark.channel, memref<16xf32>, memref<16xf32>
  // CHECK: ark.channel.signal %[[C]]
  ark.channel.signal %c : !ark.channel
  // CHECK: ark.channel.wait %[[C]]
  ark.channel.wait %c : !ark.channel
  // CHECK: ark.channel.get %[[C]]
  ark.channel.get %c, %a, %b : !ark.channel, memref<16xf32>, memref<16xf32>
  // CHECK: ark.channel.put_packet %[[C]]
  ark.channel.put_packet %c, %a, %b : !ark.channel, memref<16xf32>, memref<16xf32>
  // CHECK: ark.channel.read_packet %[[C]]
  ark.channel.read_packet %c, %a, %b : !ark.channel, memref<16xf32>, memref<16xf32>
  // CHECK: ark.channel.flush %[[C]]
  ark.channel.flush %c : !ark.channel
  return
}
