// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-fuse-tasks | FileCheck %s
// RUN: ark-opt %s --ark-assign-target=target=cpu:4 --ark-fuse-tasks | FileCheck %s --check-prefix=CPU

// Elementwise tasks that share a number only, and have eight tiles, become one task.
// CHECK-LABEL: ark.program @fewTiles
// CHECK: ark.task "step0+step1" grid [4]
// CPU: ark.task "step0+step1" grid [4]
ark.program @fewTiles(
    %lr: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "lr"},
    %w0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "w0"},
    %g0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "g0"},
    %h0_0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "h0_0"},
    %w1: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "w1"},
    %g1: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "g1"},
    %h1_0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "h1_0"})
    -> (tensor<512xf32> {ark.name = "y0"}, tensor<512xf32> {ark.name = "y1"}) {
  %x0 = tensor.empty() : tensor<512xf32>
  %y0 = ark.task "step0" grid [4]
      ins(%w0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %g0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %h0_0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %lr[#ark.region<(d0) -> (), []>] : tensor<f32>)
      outs(%x0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>)
      attributes {ops = ["add"]} {
  ^bb0(%i: index, %b0: tensor<128xf32>, %b1: tensor<128xf32>, %b2: tensor<128xf32>, %rate: tensor<f32>, %o: tensor<128xf32>):
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%b0, %b1, %b2, %rate : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>) outs(%o : tensor<128xf32>) {
      ^bb0(%e0: f32, %e1: f32, %e2: f32, %l: f32, %out: f32):
        %s0 = arith.mulf %e1, %l : f32
        %s1 = arith.addf %s0, %e2 : f32
        %u = arith.subf %e0, %s1 : f32
        linalg.yield %u : f32
      } -> tensor<128xf32>
      ark.yield %r : tensor<128xf32>
  } : tensor<512xf32>
  %x1 = tensor.empty() : tensor<512xf32>
  %y1 = ark.task "step1" grid [4]
      ins(%w1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %g1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %h1_0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %lr[#ark.region<(d0) -> (), []>] : tensor<f32>)
      outs(%x1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>)
      attributes {ops = ["add"]} {
  ^bb0(%i: index, %b0: tensor<128xf32>, %b1: tensor<128xf32>, %b2: tensor<128xf32>, %rate: tensor<f32>, %o: tensor<128xf32>):
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%b0, %b1, %b2, %rate : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>) outs(%o : tensor<128xf32>) {
      ^bb0(%e0: f32, %e1: f32, %e2: f32, %l: f32, %out: f32):
        %s0 = arith.mulf %e1, %l : f32
        %s1 = arith.addf %s0, %e2 : f32
        %u = arith.subf %e0, %s1 : f32
        linalg.yield %u : f32
      } -> tensor<128xf32>
      ark.yield %r : tensor<128xf32>
  } : tensor<512xf32>
  ark.return %y0, %y1 : tensor<512xf32>, tensor<512xf32>
}

// On a GPU, the addresses of ten tiles would take many registers, and few SMs would compute both steps.
// CHECK-LABEL: ark.program @manyTiles
// CHECK: ark.task "step0" grid [4]
// CHECK: ark.task "step1" grid [4]
// CPU: ark.task "step0+step1" grid [4]
ark.program @manyTiles(
    %lr: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "lr"},
    %w0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "w0"},
    %g0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "g0"},
    %h0_0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "h0_0"},
    %h0_1: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "h0_1"},
    %w1: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "w1"},
    %g1: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "g1"},
    %h1_0: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "h1_0"},
    %h1_1: tensor<512xf32> {ark.kind = #ark.kind<input>, ark.name = "h1_1"})
    -> (tensor<512xf32> {ark.name = "y0"}, tensor<512xf32> {ark.name = "y1"}) {
  %x0 = tensor.empty() : tensor<512xf32>
  %y0 = ark.task "step0" grid [4]
      ins(%w0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %g0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %h0_0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %h0_1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %lr[#ark.region<(d0) -> (), []>] : tensor<f32>)
      outs(%x0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>)
      attributes {ops = ["add"]} {
  ^bb0(%i: index, %b0: tensor<128xf32>, %b1: tensor<128xf32>, %b2: tensor<128xf32>, %b3: tensor<128xf32>, %rate: tensor<f32>, %o: tensor<128xf32>):
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%b0, %b1, %b2, %b3, %rate : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>) outs(%o : tensor<128xf32>) {
      ^bb0(%e0: f32, %e1: f32, %e2: f32, %e3: f32, %l: f32, %out: f32):
        %s0 = arith.mulf %e1, %l : f32
        %s1 = arith.addf %s0, %e2 : f32
        %s2 = arith.addf %s1, %e3 : f32
        %u = arith.subf %e0, %s2 : f32
        linalg.yield %u : f32
      } -> tensor<128xf32>
      ark.yield %r : tensor<128xf32>
  } : tensor<512xf32>
  %x1 = tensor.empty() : tensor<512xf32>
  %y1 = ark.task "step1" grid [4]
      ins(%w1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %g1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %h1_0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %h1_1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>, %lr[#ark.region<(d0) -> (), []>] : tensor<f32>)
      outs(%x1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<512xf32>)
      attributes {ops = ["add"]} {
  ^bb0(%i: index, %b0: tensor<128xf32>, %b1: tensor<128xf32>, %b2: tensor<128xf32>, %b3: tensor<128xf32>, %rate: tensor<f32>, %o: tensor<128xf32>):
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%b0, %b1, %b2, %b3, %rate : tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<f32>) outs(%o : tensor<128xf32>) {
      ^bb0(%e0: f32, %e1: f32, %e2: f32, %e3: f32, %l: f32, %out: f32):
        %s0 = arith.mulf %e1, %l : f32
        %s1 = arith.addf %s0, %e2 : f32
        %s2 = arith.addf %s1, %e3 : f32
        %u = arith.subf %e0, %s2 : f32
        linalg.yield %u : f32
      } -> tensor<128xf32>
      ark.yield %r : tensor<128xf32>
  } : tensor<512xf32>
  ark.return %y0, %y1 : tensor<512xf32>, tensor<512xf32>
}

// Tasks that occupy half of the SMs stay separate, so that each runs as soon as its operands are ready.
// CHECK-LABEL: ark.program @manyTasks
// CHECK: ark.task "step0" grid [68]
// CHECK: ark.task "step1" grid [68]
ark.program @manyTasks(
    %lr: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "lr"},
    %w0: tensor<8704xf32> {ark.kind = #ark.kind<input>, ark.name = "w0"},
    %g0: tensor<8704xf32> {ark.kind = #ark.kind<input>, ark.name = "g0"},
    %w1: tensor<8704xf32> {ark.kind = #ark.kind<input>, ark.name = "w1"},
    %g1: tensor<8704xf32> {ark.kind = #ark.kind<input>, ark.name = "g1"})
    -> (tensor<8704xf32> {ark.name = "y0"}, tensor<8704xf32> {ark.name = "y1"}) {
  %x0 = tensor.empty() : tensor<8704xf32>
  %y0 = ark.task "step0" grid [68]
      ins(%w0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<8704xf32>, %g0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<8704xf32>, %lr[#ark.region<(d0) -> (), []>] : tensor<f32>)
      outs(%x0[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<8704xf32>)
      attributes {ops = ["add"]} {
  ^bb0(%i: index, %b0: tensor<128xf32>, %b1: tensor<128xf32>, %rate: tensor<f32>, %o: tensor<128xf32>):
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%b0, %b1, %rate : tensor<128xf32>, tensor<128xf32>, tensor<f32>) outs(%o : tensor<128xf32>) {
      ^bb0(%e0: f32, %e1: f32, %l: f32, %out: f32):
        %s0 = arith.mulf %e1, %l : f32
        %u = arith.subf %e0, %s0 : f32
        linalg.yield %u : f32
      } -> tensor<128xf32>
      ark.yield %r : tensor<128xf32>
  } : tensor<8704xf32>
  %x1 = tensor.empty() : tensor<8704xf32>
  %y1 = ark.task "step1" grid [68]
      ins(%w1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<8704xf32>, %g1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<8704xf32>, %lr[#ark.region<(d0) -> (), []>] : tensor<f32>)
      outs(%x1[#ark.region<(d0) -> (d0 * 128), [128]>] : tensor<8704xf32>)
      attributes {ops = ["add"]} {
  ^bb0(%i: index, %b0: tensor<128xf32>, %b1: tensor<128xf32>, %rate: tensor<f32>, %o: tensor<128xf32>):
      %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
          ins(%b0, %b1, %rate : tensor<128xf32>, tensor<128xf32>, tensor<f32>) outs(%o : tensor<128xf32>) {
      ^bb0(%e0: f32, %e1: f32, %l: f32, %out: f32):
        %s0 = arith.mulf %e1, %l : f32
        %u = arith.subf %e0, %s0 : f32
        linalg.yield %u : f32
      } -> tensor<128xf32>
      ark.yield %r : tensor<128xf32>
  } : tensor<8704xf32>
  ark.return %y0, %y1 : tensor<8704xf32>, tensor<8704xf32>
}
