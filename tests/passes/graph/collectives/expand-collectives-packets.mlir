// RUN: ark-opt %s --pass-pipeline='builtin.module(builtin.module(ark.program(ark-expand-collectives)))' | FileCheck %s

// On the cpu, small messages are packets. Large messages and elements of 64 bits are not.
// CHECK-LABEL: module @onCpu
// CHECK: ark.channel.put_packet
// CHECK: ark.channel.put %
// CHECK: ark.channel.put %
module @onCpu {
  ark.program @sizes(%v: tensor<256xf32> {ark.kind = #ark.kind<input>, ark.name = "v"}, %x: tensor<257xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: tensor<4xi64> {ark.kind = #ark.kind<input>, ark.name = "y"})
      -> (tensor<256xf32> {ark.name = "r"}, tensor<257xf32> {ark.name = "s"}, tensor<4xi64> {ark.name = "t"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
    %0 = ark.send %v to 1 tag = 0 : (tensor<256xf32>) -> tensor<256xf32>
    %1 = ark.send %x to 1 tag = 1 : (tensor<257xf32>) -> tensor<257xf32>
    %2 = ark.send %y to 1 tag = 2 : (tensor<4xi64>) -> tensor<4xi64>
    ark.return %0, %1, %2 : tensor<256xf32>, tensor<257xf32>, tensor<4xi64>
  }
}

// On a GPU the semaphores of packets are counters, so packets between ranks save nothing.
// CHECK-LABEL: module @onGpu
// CHECK-NOT: packet
// CHECK: ark.channel.put %
// CHECK: ark.channel.put %
module @onGpu attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
  ark.program @sizes(%x: tensor<257xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: tensor<4xi64> {ark.kind = #ark.kind<input>, ark.name = "y"})
      -> (tensor<257xf32> {ark.name = "s"}, tensor<4xi64> {ark.name = "t"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
    %0 = ark.send %x to 1 tag = 0 : (tensor<257xf32>) -> tensor<257xf32>
    %1 = ark.send %y to 1 tag = 1 : (tensor<4xi64>) -> tensor<4xi64>
    ark.return %0, %1 : tensor<257xf32>, tensor<4xi64>
  }
}

// A message without elements has no packet that could announce its arrival.
// CHECK-LABEL: module @empty
// CHECK-NOT: packet
// CHECK: ark.channel.put %
module @empty {
  ark.program @sizes(%x: tensor<2x0xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<2x0xf32> {ark.name = "s"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
    %0 = ark.send %x to 1 tag = 0 : (tensor<2x0xf32>) -> tensor<2x0xf32>
    ark.return %0 : tensor<2x0xf32>
  }
}
