// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=tiling | FileCheck %s

// The task that computes a tensor also puts it. The sum is a separate task: in one task with the put, the
// put of one rank would wait for that of the other rank, and the ranks would not work concurrently.
// CHECK: ark.task "rank0/exp+rank0/put.to1" grid
// CHECK: ark.task "rank1/exp+rank1/put.to0" grid
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

// -----

// In a chain of sums, each task waits for one put of the other rank, and makes the next put.
// CHECK: ark.task "rank0/put.to1" grid
// CHECK: ark.task "rank1/put.to0" grid
// CHECK: ark.task "rank1/exp+rank1/put.to0_2" grid
// CHECK: ark.task "rank0/exp+rank0/put.to1_2" grid
// CHECK: ark.task "rank0/exp_2" grid
// CHECK: ark.task "rank1/exp_2" grid
// CHECK-NOT: ark.task
ark.program @q(%x: tensor<4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4096xf32> {ark.name = "y"}) attributes {rank = 0, world_size = 2} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4096xf32>) -> tensor<4096xf32>
  %1 = ark.exp %0 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = ark.all_reduce sum %1 world_size = 2 : (tensor<4096xf32>) -> tensor<4096xf32>
  %3 = ark.exp %2 : (tensor<4096xf32>) -> tensor<4096xf32>
  ark.return %3 : tensor<4096xf32>
}
ark.program @q1(%x: tensor<4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4096xf32> {ark.name = "y"}) attributes {rank = 1, world_size = 2} {
  %0 = ark.all_reduce sum %x world_size = 2 : (tensor<4096xf32>) -> tensor<4096xf32>
  %1 = ark.exp %0 : (tensor<4096xf32>) -> tensor<4096xf32>
  %2 = ark.all_reduce sum %1 world_size = 2 : (tensor<4096xf32>) -> tensor<4096xf32>
  %3 = ark.exp %2 : (tensor<4096xf32>) -> tensor<4096xf32>
  ark.return %3 : tensor<4096xf32>
}
