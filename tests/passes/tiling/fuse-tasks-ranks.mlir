// RUN: ark-opt %s --ark-target=cuda:sm_90a --ark-compile-to=tiling | FileCheck %s

// Each rank puts before it waits for the other rank's put. In one task, the put of one rank would
// wait for that of the other, and the ranks would take turns.
// CHECK: ark.task "rank0/exp" grid
// CHECK: ark.task "rank0/put.to1" grid
// CHECK: ark.task "rank1/exp" grid
// CHECK: ark.task "rank1/put.to0" grid
// CHECK: ark.task "rank1/add" grid
// CHECK: ark.task "rank0/add" grid
// CHECK-NOT: ark.task
ark.program @p(%x: tensor<4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4096xf32> {ark.name = "y"}) attributes {rank = 0, world_size = 2} {
  %0 = ark.exp %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %1 = ark.all_reduce sum %0 world_size = 2 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = ark.add %1, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  ark.return %2 : tensor<4096xf32>
}
ark.program @p1(%x: tensor<4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4096xf32> {ark.name = "y"}) attributes {rank = 1, world_size = 2} {
  %0 = ark.exp %x : (tensor<4096xf32>) -> tensor<4096xf32>
  %1 = ark.all_reduce sum %0 world_size = 2 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = ark.add %1, %0 : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
  ark.return %2 : tensor<4096xf32>
}
