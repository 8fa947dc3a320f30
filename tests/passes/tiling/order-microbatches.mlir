// RUN: ark-opt %s --split-input-file --ark-order-microbatches | FileCheck %s

// Rank 0 of two ranks begins one microbatch more than rank 1 before it alternates between one forward
// and one backward unit. The sum belongs to no microbatch.
// CHECK-LABEL: ark.program @twoRanks
// CHECK: ark.task "F0.0"
// CHECK: ark.task "F1.0"
// CHECK: ark.task "F0.1"
// CHECK: ark.task "B1.0"
// CHECK: ark.task "F1.1"
// CHECK: ark.task "B0.0"
// CHECK: ark.task "F0.2"
// CHECK: ark.task "B1.1"
// CHECK: ark.task "F1.2"
// CHECK: ark.task "B0.1"
// CHECK: ark.task "B1.2"
// CHECK: ark.task "B0.2"
// CHECK: ark.task "sum"
// CHECK-NOT: ark.task
ark.program @twoRanks(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}) -> (tensor<4xf32> {ark.name = "rank0/y"}) attributes {world_size = 2} {
  %ef0_0 = tensor.empty() : tensor<4xf32>
  %f0_0 = ark.task "F0.0" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef0_1 = tensor.empty() : tensor<4xf32>
  %f0_1 = ark.task "F0.1" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef0_2 = tensor.empty() : tensor<4xf32>
  %f0_2 = ark.task "F0.2" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef0_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 2 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef1_0 = tensor.empty() : tensor<4xf32>
  %f1_0 = ark.task "F1.0" grid [1] ins(%f0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, rank = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef1_1 = tensor.empty() : tensor<4xf32>
  %f1_1 = ark.task "F1.1" grid [1] ins(%f0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64, rank = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef1_2 = tensor.empty() : tensor<4xf32>
  %f1_2 = ark.task "F1.2" grid [1] ins(%f0_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef1_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 2 : i64, rank = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb1_0 = tensor.empty() : tensor<4xf32>
  %b1_0 = ark.task "B1.0" grid [1] ins(%f1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64, rank = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb1_1 = tensor.empty() : tensor<4xf32>
  %b1_1 = ark.task "B1.1" grid [1] ins(%f1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 1 : i64, rank = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb1_2 = tensor.empty() : tensor<4xf32>
  %b1_2 = ark.task "B1.2" grid [1] ins(%f1_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb1_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 2 : i64, rank = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb0_0 = tensor.empty() : tensor<4xf32>
  %b0_0 = ark.task "B0.0" grid [1] ins(%b1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb0_1 = tensor.empty() : tensor<4xf32>
  %b0_1 = ark.task "B0.1" grid [1] ins(%b1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 1 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb0_2 = tensor.empty() : tensor<4xf32>
  %b0_2 = ark.task "B0.2" grid [1] ins(%b1_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f0_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb0_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 2 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %et = tensor.empty() : tensor<4xf32>
  %t = ark.task "sum" grid [1] ins(%b0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %b0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %b0_2[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%et[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %a2: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %t : tensor<4xf32>
}

// -----

// Each of two ranks has two stages. Two microbatches pass the first stage of a rank before its second
// stage.
// CHECK-LABEL: ark.program @interleaved
// CHECK: ark.task "F0.0"
// CHECK: ark.task "F1.0"
// CHECK: ark.task "F0.1"
// CHECK: ark.task "F1.1"
// CHECK: ark.task "F2.0"
// CHECK: ark.task "F3.0"
// CHECK: ark.task "F2.1"
// CHECK: ark.task "B3.0"
// CHECK: ark.task "F3.1"
// CHECK: ark.task "B2.0"
// CHECK: ark.task "B3.1"
// CHECK: ark.task "B2.1"
// CHECK: ark.task "B1.0"
// CHECK: ark.task "B0.0"
// CHECK: ark.task "B1.1"
// CHECK: ark.task "B0.1"
// CHECK: ark.task "sum"
// CHECK-NOT: ark.task
ark.program @interleaved(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}) -> (tensor<4xf32> {ark.name = "rank0/y"}) attributes {world_size = 2} {
  %ef0_0 = tensor.empty() : tensor<4xf32>
  %f0_0 = ark.task "F0.0" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, rank = 0 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef0_1 = tensor.empty() : tensor<4xf32>
  %f0_1 = ark.task "F0.1" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64, rank = 0 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef1_0 = tensor.empty() : tensor<4xf32>
  %f1_0 = ark.task "F1.0" grid [1] ins(%f0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, rank = 1 : i64, stage = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef1_1 = tensor.empty() : tensor<4xf32>
  %f1_1 = ark.task "F1.1" grid [1] ins(%f0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64, rank = 1 : i64, stage = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef2_0 = tensor.empty() : tensor<4xf32>
  %f2_0 = ark.task "F2.0" grid [1] ins(%f1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef2_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, rank = 0 : i64, stage = 2 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef2_1 = tensor.empty() : tensor<4xf32>
  %f2_1 = ark.task "F2.1" grid [1] ins(%f1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef2_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64, rank = 0 : i64, stage = 2 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef3_0 = tensor.empty() : tensor<4xf32>
  %f3_0 = ark.task "F3.0" grid [1] ins(%f2_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef3_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, rank = 1 : i64, stage = 3 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef3_1 = tensor.empty() : tensor<4xf32>
  %f3_1 = ark.task "F3.1" grid [1] ins(%f2_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef3_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64, rank = 1 : i64, stage = 3 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb3_0 = tensor.empty() : tensor<4xf32>
  %b3_0 = ark.task "B3.0" grid [1] ins(%f3_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb3_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64, rank = 1 : i64, stage = 3 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb3_1 = tensor.empty() : tensor<4xf32>
  %b3_1 = ark.task "B3.1" grid [1] ins(%f3_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb3_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 1 : i64, rank = 1 : i64, stage = 3 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb2_0 = tensor.empty() : tensor<4xf32>
  %b2_0 = ark.task "B2.0" grid [1] ins(%b3_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f2_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb2_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64, rank = 0 : i64, stage = 2 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb2_1 = tensor.empty() : tensor<4xf32>
  %b2_1 = ark.task "B2.1" grid [1] ins(%b3_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f2_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb2_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 1 : i64, rank = 0 : i64, stage = 2 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb1_0 = tensor.empty() : tensor<4xf32>
  %b1_0 = ark.task "B1.0" grid [1] ins(%b2_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64, rank = 1 : i64, stage = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb1_1 = tensor.empty() : tensor<4xf32>
  %b1_1 = ark.task "B1.1" grid [1] ins(%b2_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 1 : i64, rank = 1 : i64, stage = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb0_0 = tensor.empty() : tensor<4xf32>
  %b0_0 = ark.task "B0.0" grid [1] ins(%b1_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64, rank = 0 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb0_1 = tensor.empty() : tensor<4xf32>
  %b0_1 = ark.task "B0.1" grid [1] ins(%b1_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %f0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 1 : i64, rank = 0 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %et = tensor.empty() : tensor<4xf32>
  %t = ark.task "sum" grid [1] ins(%b0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %b0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%et[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %t : tensor<4xf32>
}

// -----

// On one rank, a microbatch runs forward and backward before the next one begins.
// CHECK-LABEL: ark.program @oneRank
// CHECK: ark.task "F0.0"
// CHECK: ark.task "B0.0"
// CHECK: ark.task "F0.1"
// CHECK: ark.task "B0.1"
// CHECK: ark.task "sum"
// CHECK-NOT: ark.task
ark.program @oneRank(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %ef0_0 = tensor.empty() : tensor<4xf32>
  %f0_0 = ark.task "F0.0" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ef0_1 = tensor.empty() : tensor<4xf32>
  %f0_1 = ark.task "F0.1" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ef0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb0_0 = tensor.empty() : tensor<4xf32>
  %b0_0 = ark.task "B0.0" grid [1] ins(%f0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb0_1 = tensor.empty() : tensor<4xf32>
  %b0_1 = ark.task "B0.1" grid [1] ins(%f0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 1 : i64, stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %et = tensor.empty() : tensor<4xf32>
  %t = ark.task "sum" grid [1] ins(%b0_0[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %b0_1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%et[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %t : tensor<4xf32>
}

// -----

// The forward unit of microbatch 0 depends on that of microbatch 1, which therefore begins first.
// CHECK-LABEL: ark.program @contradiction
// CHECK: ark.task "F0.begin"
// CHECK: ark.task "F1"
// CHECK: ark.task "F0.end"
// CHECK: ark.task "B0"
// CHECK-NOT: ark.task
ark.program @contradiction(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %ea = tensor.empty() : tensor<4xf32>
  %a = ark.task "F0.begin" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ea[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb = tensor.empty() : tensor<4xf32>
  %b = ark.task "F1" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ec = tensor.empty() : tensor<4xf32>
  %c = ark.task "F0.end" grid [1] ins(%a[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %b[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ec[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ed = tensor.empty() : tensor<4xf32>
  %d = ark.task "B0" grid [1] ins(%c[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ed[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {backward = true, microbatch = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %d : tensor<4xf32>
}

// -----

// A task that updates a state stays behind the tasks that read the state, although it has no microbatch.
// CHECK-LABEL: ark.program @update
// CHECK: ark.task "F0"
// CHECK: ark.task "F1"
// CHECK: ark.task "sum"
// CHECK: ark.task "update"
// CHECK-NOT: ark.task
ark.program @update(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %s: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %ea = tensor.empty() : tensor<4xf32>
  %a = ark.task "F1" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ea[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb = tensor.empty() : tensor<4xf32>
  %b = ark.task "F0" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {microbatch = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ec = tensor.empty() : tensor<4xf32>
  %c = ark.task "sum" grid [1] ins(%a[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %b[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ec[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %s1 = ark.task "update" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %c : tensor<4xf32>
}

// -----

// Without microbatches, the order does not change.
// CHECK-LABEL: ark.program @noMicrobatch
// CHECK: ark.task "late"
// CHECK: ark.task "early"
// CHECK: ark.task "sum"
// CHECK-NOT: ark.task
ark.program @noMicrobatch(%x: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %ea = tensor.empty() : tensor<4xf32>
  %a = ark.task "late" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ea[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {stage = 1 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %eb = tensor.empty() : tensor<4xf32>
  %b = ark.task "early" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%eb[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {plan = {stage = 0 : i64}} {
  ^bb0(%i: index, %a0: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  %ec = tensor.empty() : tensor<4xf32>
  %c = ark.task "sum" grid [1] ins(%a[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>, %b[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) outs(%ec[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a0: tensor<4xf32>, %a1: tensor<4xf32>, %o: tensor<4xf32>):
    ark.yield %a0 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %c : tensor<4xf32>
}
