// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-expand-collectives))' | FileCheck %s
// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{algorithm=two-shot}))' | FileCheck %s --check-prefix=TWO
// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{algorithm=ring}))' | FileCheck %s --check-prefix=RING
// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{packet-bytes=8}))' | FileCheck %s --check-prefix=PUT
// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-expand-collectives{one-shot-bytes=0}))' | FileCheck %s --check-prefix=SIZE

// A rank sends everything before it receives anything, first to the next rank.
// The sum is taken in the order of ranks.
// CHECK-LABEL: ark.program @allReduce
// CHECK: %[[TO2:.+]] = ark.channel.open peer = 2 tag = -1
// CHECK: ark.channel.put_packet %[[TO2]], %[[X:.+]] : !ark.channel, tensor<7xf32>
// CHECK: %[[TO0:.+]] = ark.channel.open peer = 0 tag = -1
// CHECK: ark.channel.put_packet %[[TO0]], %[[X]]
// CHECK: %[[FROM0:.+]] = ark.channel.open peer = 0
// CHECK: %[[A:.+]] = ark.channel.read_packet %[[FROM0]] : !ark.channel -> tensor<7xf32>
// CHECK: %[[FROM2:.+]] = ark.channel.open peer = 2
// CHECK: %[[B:.+]] = ark.channel.read_packet %[[FROM2]]
// CHECK: %[[AB:.+]] = ark.add %[[A]], %[[X]]
// CHECK: %[[SUM:.+]] = ark.add %[[AB]], %[[B]]
// CHECK: ark.return %[[SUM]]

// The parts have 3, 2 and 2 elements; rank 1 reduces the second part.
// TWO-LABEL: ark.program @allReduce
// TWO: ark.slice %{{.+}} starts = [0] stops = [3]
// TWO: %[[OWN:.+]] = ark.slice %{{.+}} starts = [3] stops = [5]
// TWO: ark.slice %{{.+}} starts = [5] stops = [7]
// TWO-COUNT-2: ark.channel.put_packet
// TWO-COUNT-2: ark.channel.read_packet %{{.+}} -> tensor<2xf32>
// TWO: ark.add %{{.+}}, %[[OWN]]
// TWO: %[[SUM:.+]] = ark.add
// TWO-COUNT-2: ark.channel.put_packet %{{.+}}, %[[SUM]]
// TWO: %[[FIRST:.+]] = ark.channel.read_packet %{{.+}} -> tensor<3xf32>
// TWO: %[[LAST:.+]] = ark.channel.read_packet %{{.+}} -> tensor<2xf32>
// Parts of different extents are joined along the axis.
// TWO: ark.concat %[[FIRST]], %[[SUM]], %[[LAST]] axis = 0

// Each rank first sends the part of the rank behind it.
// RING-LABEL: ark.program @allReduce
// RING: %[[PART0:.+]] = ark.slice %{{.+}} starts = [0] stops = [3]
// RING: %[[PART1:.+]] = ark.slice
// RING: %[[PART2:.+]] = ark.slice
// RING: %[[NEXT:.+]] = ark.channel.open peer = 2
// RING: ark.channel.put_packet %[[NEXT]], %[[PART0]]
// RING: %[[BEHIND:.+]] = ark.channel.open peer = 0
// RING: %[[R:.+]] = ark.channel.read_packet %[[BEHIND]]
// RING: ark.add %[[R]], %[[PART2]]
// RING: ark.channel.put_packet
// RING: %[[R1:.+]] = ark.channel.read_packet
// RING: ark.add %[[R1]], %[[PART1]]
// RING-COUNT-2: ark.channel.put_packet
// RING: ark.concat

// A large message is a put and a signal.
// PUT-LABEL: ark.program @allReduce
// PUT: ark.channel.put %[[C:.+]], %{{.+}} : !ark.channel, tensor<7xf32>
// PUT-NEXT: ark.channel.signal %[[C]]
// PUT: ark.channel.wait %[[C:.+]] :
// PUT-NEXT: ark.channel.get %[[C]] : !ark.channel -> tensor<7xf32>

// SIZE-LABEL: ark.program @allReduce
// SIZE: ark.concat
ark.program @allReduce(%x: tensor<7xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<7xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 3 : i64} {
  %0 = ark.all_reduce sum %x world_size = 3 : (tensor<7xf32>) -> tensor<7xf32>
  ark.return %0 : tensor<7xf32>
}

// Sums of narrow floats are accumulated in f32 and rounded once; a maximum is exact.
// CHECK-LABEL: ark.program @narrow
// CHECK: ark.cast %{{.+}} to f32
// CHECK: ark.cast %{{.+}} to f32
// CHECK: ark.add %{{.+}} : (tensor<4xf32>, tensor<4xf32>)
// CHECK: ark.cast %{{.+}} to bf16
// CHECK: ark.maximum %{{.+}} : (tensor<4xbf16>, tensor<4xbf16>)
ark.program @narrow(%x: tensor<4xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xbf16> {ark.name = "y"}, tensor<4xbf16> {ark.name = "z"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4xbf16>) -> tensor<4xbf16>
  %1 = ark.all_reduce max %x world_size = 2 : (tensor<4xbf16>) -> tensor<4xbf16>
  ark.return %0, %1 : tensor<4xbf16>, tensor<4xbf16>
}

// CHECK-LABEL: ark.program @others
// CHECK: ark.channel.put_packet %{{.+}}, %[[X:.+]] : !ark.channel, tensor<4xi32>
// CHECK: %[[P:.+]] = ark.channel.read_packet
// CHECK: %[[GATHERED:.+]] = ark.concat %[[X]], %[[P]] axis = 0
// CHECK: %[[PART0:.+]] = ark.slice %[[GATHERED]] starts = [0] stops = [4]
// CHECK: %[[PART1:.+]] = ark.slice %[[GATHERED]] starts = [4] stops = [8]
// CHECK: ark.channel.put_packet %{{.+}}, %[[PART1]]
// CHECK: %[[Q:.+]] = ark.channel.read_packet
// CHECK: %[[SCATTERED:.+]] = ark.add %[[PART0]], %[[Q]]
// CHECK: ark.slice %[[SCATTERED]]
// CHECK: ark.concat
// CHECK: ark.channel.read_packet
ark.program @others(%x: tensor<4xi32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xi32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.all_gather %x axis = 0 world_size = 2 : (tensor<4xi32>) -> tensor<8xi32>
  %1 = ark.reduce_scatter sum %0 axis = 0 world_size = 2 : (tensor<8xi32>) -> tensor<4xi32>
  %2 = ark.all_to_all %1 axis = 0 world_size = 2 : (tensor<4xi32>) -> tensor<4xi32>
  %3 = ark.broadcast %2 root = 1 world_size = 2 : (tensor<4xi32>) -> tensor<4xi32>
  ark.return %3 : tensor<4xi32>
}

// A send of the user's program keeps its tag, and its result is the tensor that was sent.
// CHECK-LABEL: ark.program @sendAndReceive
// CHECK: ark.channel.open peer = 1 tag = 5
// CHECK: ark.channel.put_packet %{{.+}}, %[[X:.+]] :
// CHECK: ark.channel.open peer = 1 tag = 6
// CHECK: %[[Y:.+]] = ark.channel.read_packet
// CHECK: ark.return %[[X]], %[[Y]]
ark.program @sendAndReceive(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "s"}, tensor<2xi1> {ark.name = "r"})
    attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.send %x to 1 tag = 5 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.recv from 1 tag = 6 : tensor<2xi1>
  ark.return %0, %1 : tensor<4xf32>, tensor<2xi1>
}

// A collective of one rank, or of no elements, moves nothing.
// CHECK-LABEL: ark.program @alone
// CHECK-NOT: ark.channel
// CHECK: ark.return %[[X:.+]], %{{.+}}
ark.program @alone(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
                   %n: tensor<0x4xf32> {ark.kind = #ark.kind<input>, ark.name = "n"})
    -> (tensor<4xf32> {ark.name = "y"}, tensor<0x4xf32> {ark.name = "m"})
    attributes {rank = 0 : i64, world_size = 1 : i64} {
  %0 = ark.all_reduce sum %x world_size = 1 : (tensor<4xf32>) -> tensor<4xf32>
  %1 = ark.all_gather %n axis = 0 world_size = 1 : (tensor<0x4xf32>) -> tensor<0x4xf32>
  ark.return %0, %1 : tensor<4xf32>, tensor<0x4xf32>
}

// Large parts of equal shape are joined along an axis of their own, so that tiles divide `axis`.
// CHECK-LABEL: ark.program @largeParts
// CHECK-SAME: (%[[OWN:.+]]: tensor<2x8192xi32>
// CHECK: %[[OTHER:.+]] = ark.channel.get
// CHECK: %[[ROW0:.+]] = ark.reshape %[[OWN]] shape = [2, 1, 8192]
// CHECK: %[[ROW1:.+]] = ark.reshape %[[OTHER]] shape = [2, 1, 8192]
// CHECK: %[[ROWS:.+]] = ark.concat %[[ROW0]], %[[ROW1]] axis = 1 : {{.+}} -> tensor<2x2x8192xi32>
// CHECK: ark.reshape %[[ROWS]] shape = [2, 16384]
ark.program @largeParts(%x: tensor<2x8192xi32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x16384xi32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
  %0 = ark.all_gather %x axis = 1 world_size = 2 : (tensor<2x8192xi32>) -> tensor<2x16384xi32>
  ark.return %0 : tensor<2x16384xi32>
}
