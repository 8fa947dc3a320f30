// RUN: ark-opt %s --ark-verify-ranks --ark-join-ranks | FileCheck %s

// One program stands for all ranks of a world of 4. Rank 1 puts to rank 2, at distance 1, and takes from rank
// 0, at distance 1 before it. So each copy takes from the other copy what that copy puts to rank 2, not what
// it puts to rank 3.
module attributes {ark.representative} {
  // CHECK-LABEL: ark.program @p(
  // CHECK-SAME: %[[X0:.+]]: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}
  // CHECK-SAME: %[[X1:.+]]: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank1/x"}
  // CHECK-SAME: attributes {world_size = 2 : i64}
  // CHECK: %[[FAR0:.+]] = ark.group "rank0/put.to3" (%{{.+}} = %[[X0]]) attributes {ops = ["put"], plan = {rank = 0 : i64}}
  // CHECK: %[[FAR1:.+]] = ark.group "rank1/put.to3" (%{{.+}} = %[[X1]]) attributes {ops = ["put"], plan = {rank = 1 : i64}}
  // CHECK: %[[NEAR0:.+]] = ark.group "rank0/put.to2" (%{{.+}} = %[[X0]])
  // CHECK: %[[NEAR1:.+]] = ark.group "rank1/put.to2" (%{{.+}} = %[[X1]])
  // CHECK: ark.group "rank0/add" (%{{.+}} = %[[NEAR1]], %{{.+}} = %[[FAR1]])
  // CHECK: ark.group "rank1/add" (%{{.+}} = %[[NEAR0]], %{{.+}} = %[[FAR0]])
  // CHECK-NOT: ark.program
  ark.program @p(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<4xf32> {ark.name = "y"}) attributes {rank = 1 : i64, world_size = 4 : i64} {
    %to3 = ark.channel.open peer = 3 tag = 0 : !ark.channel
    ark.channel.put %to3, %x : !ark.channel, tensor<4xf32>
    ark.channel.signal %to3 : !ark.channel
    %to2 = ark.channel.open peer = 2 tag = 0 : !ark.channel
    ark.channel.put %to2, %x : !ark.channel, tensor<4xf32>
    ark.channel.signal %to2 : !ark.channel
    %from0 = ark.channel.open peer = 0 tag = 0 : !ark.channel
    ark.channel.wait %from0 : !ark.channel
    %near = ark.channel.get %from0 : !ark.channel -> tensor<4xf32>
    // Distance 2, before and after.
    %from3 = ark.channel.open peer = 3 tag = 0 : !ark.channel
    ark.channel.wait %from3 : !ark.channel
    %far = ark.channel.get %from3 : !ark.channel -> tensor<4xf32>
    %sum = ark.group "add" (%a = %near, %b = %far) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
      %0 = ark.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      ark.yield %0 : tensor<4xf32>
    }
    ark.return %sum : tensor<4xf32>
  }
}
