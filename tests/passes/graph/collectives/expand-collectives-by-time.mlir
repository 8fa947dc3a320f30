// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-expand-collectives))' | FileCheck %s
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{one-shot-bytes=0 two-shot-bytes=8}))' | FileCheck %s --check-prefix=LIMITS

// Between four GPUs, the whole tensor of 32 KiB goes to all ranks: one step of packets.
// CHECK-LABEL: ark.program @small
// CHECK-NOT: tensor<4096xbf16>
// CHECK-COUNT-3: ark.channel.put %{{.+}} : !ark.channel, tensor<16384xbf16>
// Options that limit the bytes select a ring, which sends parts.
// LIMITS-LABEL: ark.program @small
// LIMITS-NOT: ark.channel.put %{{.+}} : !ark.channel, tensor<16384xbf16>
// LIMITS: ark.channel.put %{{.+}} : !ark.channel, tensor<4096xf32>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
  ark.program @small(%x: tensor<16384xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<16384xbf16> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 4 : i64} {
    %0 = ark.all_reduce sum %x world_size = 4 : (tensor<16384xbf16>) -> tensor<16384xbf16>
    ark.return %0 : tensor<16384xbf16>
  }
}

// -----

// Parts of 128 KiB are packets, the whole is not. A rank sends one part to each other rank, and its
// sum to all of them.
// CHECK-LABEL: ark.program @medium
// CHECK-COUNT-6: ark.channel.put %{{.+}} : !ark.channel, tensor<16384xbf16>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
  ark.program @medium(%x: tensor<65536xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<65536xbf16> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 4 : i64} {
    %0 = ark.all_reduce sum %x world_size = 4 : (tensor<65536xbf16>) -> tensor<65536xbf16>
    ark.return %0 : tensor<65536xbf16>
  }
}

// -----

// The whole of 1 MiB to three ranks takes less time than two steps with counters.
// CHECK-LABEL: ark.program @oneMiB
// CHECK-COUNT-3: ark.channel.put %{{.+}} : !ark.channel, tensor<524288xbf16>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
  ark.program @oneMiB(%x: tensor<524288xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<524288xbf16> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 4 : i64} {
    %0 = ark.all_reduce sum %x world_size = 4 : (tensor<524288xbf16>) -> tensor<524288xbf16>
    ark.return %0 : tensor<524288xbf16>
  }
}

// -----

// With links of low latency, two steps take less time than one step with three times the bytes.
// CHECK-LABEL: ark.program @lowLatency
// CHECK-COUNT-6: ark.channel.put %{{.+}} : !ark.channel, tensor<131072xbf16>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300,
    gpu = #ark.gpu<warp_size = 32, links = #ark.links<bandwidth = 370, sm_bandwidth = 33,
      message_bandwidth = 287, packet = 900, message = 1000>>>} {
  ark.program @lowLatency(%x: tensor<524288xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<524288xbf16> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 4 : i64} {
    %0 = ark.all_reduce sum %x world_size = 4 : (tensor<524288xbf16>) -> tensor<524288xbf16>
    ark.return %0 : tensor<524288xbf16>
  }
}

// -----

// However large a tensor is, no ring sends it: no partial sum of 32 bits is sent. 16 MiB are four chunks of 4 MiB: three
// slices of a chunk to the other ranks, and the sum to all of them.
// CHECK-LABEL: ark.program @large
// CHECK-NOT: ark.channel.put %{{.+}}xf32>
// CHECK-COUNT-24: ark.channel.put %{{.+}} : !ark.channel, tensor<524288xbf16>
// CHECK-NOT: ark.channel.put
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
  ark.program @large(%x: tensor<8388608xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<8388608xbf16> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 4 : i64} {
    %0 = ark.all_reduce sum %x world_size = 4 : (tensor<8388608xbf16>) -> tensor<8388608xbf16>
    ark.return %0 : tensor<8388608xbf16>
  }
}

// -----

// Between two GPUs, two shots send as many bytes in more steps.
// CHECK-LABEL: ark.program @pair
// CHECK: ark.channel.put %{{.+}} : !ark.channel, tensor<8388608xbf16>
// CHECK-NOT: ark.channel.put
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
  ark.program @pair(%x: tensor<8388608xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<8388608xbf16> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
    %0 = ark.all_reduce sum %x world_size = 2 : (tensor<8388608xbf16>) -> tensor<8388608xbf16>
    ark.return %0 : tensor<8388608xbf16>
  }
}
