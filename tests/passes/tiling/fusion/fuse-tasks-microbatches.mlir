// RUN: ark-opt %s --split-input-file --ark-target=cpu:1 --ark-compile-to=tiling | FileCheck %s

// Ops of different microbatches are separate tasks, although they are equal, read the same tensors or read each other.
// CHECK-LABEL: ark.program @microbatches
// CHECK: ark.task "exp" {{.*}} attributes {ops = ["exp"], plan = {microbatch = 0 : i64}}
// CHECK: ark.task "neg" {{.*}} attributes {ops = ["neg"], plan = {backward = true, microbatch = 0 : i64}}
// CHECK: ark.task "exp_2" {{.*}} attributes {ops = ["exp"], plan = {microbatch = 1 : i64}}
// CHECK: ark.task "sqrt" {{.*}} attributes {ops = ["sqrt"], plan = {backward = true, microbatch = 1 : i64}}
// CHECK-NOT: ark.task
ark.program @microbatches(%x: tensor<8x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64xf32> {ark.name = "y"}, tensor<8x64xf32> {ark.name = "z"}) {
  %0 = ark.exp %x {ark.plan = {microbatch = 0 : i64}} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = ark.exp %x {ark.plan = {microbatch = 1 : i64}} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = ark.neg %0 {ark.plan = {backward = true, microbatch = 0 : i64}} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %3 = ark.sqrt %1 {ark.plan = {backward = true, microbatch = 1 : i64}} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  ark.return %2, %3 : tensor<8x64xf32>, tensor<8x64xf32>
}

// -----

// Equal ops of one microbatch are one.
// CHECK-LABEL: ark.program @oneMicrobatch
// CHECK: ark.task
// CHECK-NOT: ark.task
ark.program @oneMicrobatch(%x: tensor<8x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64xf32> {ark.name = "y"}) {
  %0 = ark.exp %x {ark.plan = {microbatch = 1 : i64}} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %1 = ark.exp %x {ark.plan = {microbatch = 1 : i64}} : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %2 = ark.add %0, %1 {ark.plan = {microbatch = 1 : i64}} : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  ark.return %2 : tensor<8x64xf32>
}
