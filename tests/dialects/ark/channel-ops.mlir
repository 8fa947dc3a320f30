// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: func.func @everyPrimitive
func.func @everyPrimitive(%x: tensor<16xf32>) {
  // CHECK: %[[C:.+]] = ark.channel.open peer = 1 tag = 0 : !ark.channel
  %c = ark.channel.open peer = 1 tag = 0 : !ark.channel
  // CHECK: ark.channel.put %[[C]], %{{.+}} : !ark.channel, tensor<16xf32>
  ark.channel.put %c, %x : !ark.channel, tensor<16xf32>
  // CHECK: ark.channel.signal %[[C]] : !ark.channel
  ark.channel.signal %c : !ark.channel
  // CHECK: ark.channel.wait %[[C]] : !ark.channel
  ark.channel.wait %c : !ark.channel
  // CHECK: ark.channel.get %[[C]] : !ark.channel -> tensor<16xf32>
  %0 = ark.channel.get %c : !ark.channel -> tensor<16xf32>
  // CHECK: ark.channel.put_packet %[[C]], %{{.+}} : !ark.channel, tensor<16xf32>
  ark.channel.put_packet %c, %x : !ark.channel, tensor<16xf32>
  // CHECK: ark.channel.read_packet %[[C]] : !ark.channel -> tensor<16xf32>
  %1 = ark.channel.read_packet %c : !ark.channel -> tensor<16xf32>
  return
}
