// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{algorithm=two-shot slice-bytes=64 packet-bytes=0}))' | FileCheck %s
// RUN: not ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{slice-bytes=0}))' 2>&1 | FileCheck %s --check-prefix=INVALID

// INVALID: error: slice-bytes is 0: expected at least 1

// Rank 0 sends its slice of the second chunk before it adds the slices of the first chunk. It receives in the order in
// which rank 1 sends.
// CHECK-LABEL: ark.program @two
// CHECK: %[[A:.+]] = ark.slice %{{.+}} : (tensor<64xf32>) -> tensor<32xf32>
// CHECK: ark.channel.put %{{.+}} : !ark.channel, tensor<16xf32>
// CHECK: ark.channel.put %{{.+}} : !ark.channel, tensor<16xf32>
// CHECK: ark.channel.get
// CHECK: %[[SUM0:.+]] = ark.add
// CHECK: ark.channel.put %{{.+}}, %[[SUM0]]
// CHECK: ark.channel.get
// CHECK: ark.channel.get
// CHECK: %[[SUM1:.+]] = ark.add
// CHECK: ark.channel.put %{{.+}}, %[[SUM1]]
// CHECK: ark.channel.get
// CHECK: ark.concat
// CHECK-NOT: ark.channel.put
ark.program @two(%x: tensor<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<64xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<64xf32>) -> tensor<64xf32>
  ark.return %0 : tensor<64xf32>
}

// -----

// 68 elements have no two chunks with slices of whole cache lines: one chunk.
// CHECK-LABEL: ark.program @ragged
// CHECK-COUNT-2: ark.channel.put %{{.+}} : !ark.channel, tensor<34xf32>
// CHECK-NOT: ark.channel.put
ark.program @ragged(%x: tensor<68xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<68xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<68xf32>) -> tensor<68xf32>
  ark.return %0 : tensor<68xf32>
}
