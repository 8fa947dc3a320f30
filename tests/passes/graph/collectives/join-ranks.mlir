// RUN: ark-opt %s --ark-join-ranks --split-input-file | FileCheck %s

// Rank 1, which reads, comes first in the list of ranks. The joined program has the put of rank 0 before
// the read.
// CHECK-LABEL: ark.program @sender(
// CHECK-SAME: %[[X0:.+]]: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}
// CHECK-SAME: %[[X1:.+]]: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank1/x"}
// CHECK-SAME: -> (tensor<4xf32> {ark.name = "rank0/y"}, tensor<4xf32> {ark.name = "rank1/y"})
// CHECK-SAME: attributes {world_size = 2 : i64}
// CHECK: %[[PUT:.+]] = ark.group "rank0/put.to1" (%[[A:.+]] = %[[X0]]) attributes {ops = ["put"], plan = {rank = 0 : i64}}
// CHECK:   ark.copy %[[A]]
// CHECK: %[[Y0:.+]] = ark.group "rank0/relu" (%{{.+}} = %[[X0]]) attributes {plan = {rank = 0 : i64, sms = array<i64: 0, 1>}}
// CHECK: %[[Y1:.+]] = ark.group "rank1/relu" (%{{.+}} = %[[PUT]]) attributes {plan = {rank = 1 : i64}}
// CHECK: ark.return %[[Y0]], %[[Y1]]
// CHECK-NOT: ark.program
ark.program @receiver(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 0 tag = 3 : !ark.channel
  ark.channel.wait %c : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<4xf32>
  %1 = ark.group "relu" (%a = %0) : (tensor<4xf32>) -> tensor<4xf32> {
    %2 = ark.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %2 : tensor<4xf32>
  }
  ark.return %1 : tensor<4xf32>
}
ark.program @sender(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 2 : i64} {
  %c = ark.channel.open peer = 1 tag = 3 : !ark.channel
  ark.channel.put %c, %x : !ark.channel, tensor<4xf32>
  ark.channel.signal %c : !ark.channel
  %1 = ark.group "relu" (%a = %x) attributes {plan = {sms = array<i64: 0, 1>}} : (tensor<4xf32>) -> tensor<4xf32> {
    %2 = ark.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %2 : tensor<4xf32>
  }
  ark.return %1 : tensor<4xf32>
}

// -----

// A put of a rank to itself stays within the rank; the names of a single rank have no prefix.
// CHECK-LABEL: ark.program @alone(
// CHECK-SAME: ark.name = "x"
// CHECK: %[[PUT:.+]] = ark.group "put_packet.to0" (%{{.+}} = %{{.+}}) attributes {ops = ["put_packet"], plan = {rank = 0 : i64}, tile = array<i64: 4>}
// CHECK-NEXT: ark.pack_packet %{{.+}} : (tensor<4xf32>) -> tensor<4xi64>
// CHECK: %[[READ:.+]] = ark.group "read_packet.from0" (%{{.+}} = %[[PUT]]) attributes {ops = ["read_packet"], plan = {rank = 0 : i64}}
// CHECK-NEXT: ark.unpack_packet %{{.+}} to f32 : (tensor<4xi64>) -> tensor<4xf32>
// CHECK: ark.group "copy" (%{{.+}} = %[[READ]])
ark.program @alone(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 0 : i64, world_size = 1 : i64} {
  %c = ark.channel.open peer = 0 tag = 0 : !ark.channel
  ark.channel.put_packet %c, %x : !ark.channel, tensor<4xf32>
  %0 = ark.channel.read_packet %c : !ark.channel -> tensor<4xf32>
  %1 = ark.group "copy" (%a = %0) : (tensor<4xf32>) -> tensor<4xf32> {
    %2 = ark.copy %a : (tensor<4xf32>) -> tensor<4xf32>
    ark.yield %2 : tensor<4xf32>
  }
  ark.return %1 : tensor<4xf32>
}

// -----

// CHECK-LABEL: ark.program @withoutRank
// CHECK-NOT: world_size
ark.program @withoutRank() {
  ark.return
}

// -----

// Between domains, SMs copy to a contiguous buffer, from which a network adapter copies. Puts of the same
// tensor share the buffer.
// CHECK-LABEL: ark.program @sender(
// CHECK-SAME: %[[X0:.+]]: tensor<2x4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}
// CHECK: %[[STAGE:.+]] = ark.group "rank0/put.stage" (%[[A:.+]] = %[[X0]]) attributes {ops = ["put"], plan = {rank = 0 : i64}}
// CHECK:   ark.copy %[[A]]
// CHECK: %[[FLAT:.+]] = ark.reshape %[[STAGE]] shape = [8]
// CHECK: %[[PUT1:.+]] = ark.group "rank0/put.to1" (%[[B:.+]] = %[[FLAT]]) attributes {ops = ["put"], plan = {network = 1 : i64, rank = 0 : i64}, tile = array<i64: 8>}
// CHECK:   ark.copy %[[B]]
// CHECK: ark.reshape %[[PUT1]] shape = [2, 4]
// CHECK-NOT: put.stage
// CHECK: ark.group "rank0/put.to2" (%{{.+}} = %[[FLAT]]) attributes {ops = ["put"], plan = {network = 2 : i64, rank = 0 : i64}, tile = array<i64: 8>}
// A put within a domain is one group.
// CHECK: ark.group "rank1/put.to2" (%{{.+}} = %{{.+}}) attributes {ops = ["put"], plan = {rank = 1 : i64}}
module attributes {ark.domains = array<i64: 0, 1, 1>} {
ark.program @sender(%x: tensor<2x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> () attributes {rank = 0 : i64, world_size = 3 : i64} {
  %c = ark.channel.open peer = 1 tag = 3 : !ark.channel
  ark.channel.put %c, %x : !ark.channel, tensor<2x4xf32>
  %d = ark.channel.open peer = 2 tag = 3 : !ark.channel
  ark.channel.put %d, %x : !ark.channel, tensor<2x4xf32>
  ark.return
}
ark.program @between() -> (tensor<2x4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 3 : i64} {
  %c = ark.channel.open peer = 0 tag = 3 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<2x4xf32>
  %d = ark.channel.open peer = 2 tag = 4 : !ark.channel
  ark.channel.put %d, %0 : !ark.channel, tensor<2x4xf32>
  ark.return %0 : tensor<2x4xf32>
}
ark.program @last() -> (tensor<2x4xf32> {ark.name = "y"}, tensor<2x4xf32> {ark.name = "z"})
    attributes {rank = 2 : i64, world_size = 3 : i64} {
  %c = ark.channel.open peer = 0 tag = 3 : !ark.channel
  %0 = ark.channel.get %c : !ark.channel -> tensor<2x4xf32>
  %d = ark.channel.open peer = 1 tag = 4 : !ark.channel
  %1 = ark.channel.get %d : !ark.channel -> tensor<2x4xf32>
  ark.return %0, %1 : tensor<2x4xf32>, tensor<2x4xf32>
}
}
