// RUN: ark-opt %s --ark-fuse-tasks | FileCheck %s
// RUN: ark-opt %s --ark-fuse-tasks=max-ops=0 | FileCheck %s --check-prefix=MAX

// MAX-NOT: ark.task "{{[^"]*\+}}

module attributes {ark.target = #ark.target<backend = cpu, arch = "host",
  sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 160,
  handoff = 200, barrier = 400, overhead = 50>} {

// A vCTA of `up` reads the tile that one vCTA of `gate` computes, so this tile stays inside of the fused vCTA.
// CHECK-LABEL: ark.program @partners
// CHECK: ark.task "mlp.gate+up" grid [2]
// CHECK-SAME: ins(%arg0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
// CHECK-SAME: outs(%{{.*}}[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
// CHECK-SAME: ops = ["silu", "mul"]
// CHECK-NEXT: ^bb0(%{{.*}}: index, %[[X:.*]]: tensor<8xf32>, %[[O:.*]]: tensor<8xf32>):
// CHECK: %[[OWN:.*]] = tensor.empty() : tensor<8xf32>
// CHECK: %[[GATE:.*]] = linalg.negf ins(%[[X]] : {{.*}}) outs(%[[OWN]]
// CHECK: %[[UP:.*]] = linalg.mul ins(%[[X]], %[[GATE]] : {{.*}}) outs(%[[O]]
// CHECK: ark.yield %[[UP]]
// CHECK-NOT: ark.task
ark.program @partners(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  ark.return %1 : tensor<16xf32>
}

// A vCTA of the rotation reads halves of the rows that one vCTA of the norm computes.
// CHECK-LABEL: ark.program @halvesOfPartners
// CHECK: ark.task "norm+rope" grid [2]
// CHECK: %[[OWN:.*]] = tensor.empty() : tensor<1x8xf32>
// CHECK: %[[NORM:.*]] = linalg.negf {{.*}} outs(%[[OWN]]
// CHECK: %[[LEFT:.*]] = tensor.extract_slice %[[NORM]][0, 0] [1, 4] [1, 1]
// CHECK: %[[RIGHT:.*]] = tensor.extract_slice %[[NORM]][0, 4] [1, 4] [1, 1]
// CHECK: linalg.mul ins(%[[LEFT]], %[[RIGHT]]
// CHECK-NOT: ark.task
ark.program @halvesOfPartners(%x: tensor<2x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x4xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<2x8xf32>
  %0 = ark.task "norm" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      outs(%e0[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      attributes {ops = ["rmsnorm"]} {
  ^bb0(%i: index, %a: tensor<1x8xf32>, %o: tensor<1x8xf32>):
    %r = linalg.negf ins(%a : tensor<1x8xf32>) outs(%o : tensor<1x8xf32>) -> tensor<1x8xf32>
    ark.yield %r : tensor<1x8xf32>
  } : tensor<2x8xf32>
  %e1 = tensor.empty() : tensor<2x4xf32>
  %1 = ark.task "rope" grid [2]
      ins(%0[#ark.region<(d0) -> (d0, 0), [1, 4]>] : tensor<2x8xf32>,
          %0[#ark.region<(d0) -> (d0, 4), [1, 4]>] : tensor<2x8xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 4]>] : tensor<2x4xf32>)
      attributes {ops = ["rope"]} {
  ^bb0(%i: index, %a: tensor<1x4xf32>, %b: tensor<1x4xf32>, %o: tensor<1x4xf32>):
    %r = linalg.mul ins(%a, %b : tensor<1x4xf32>, tensor<1x4xf32>) outs(%o : tensor<1x4xf32>) -> tensor<1x4xf32>
    ark.yield %r : tensor<1x4xf32>
  } : tensor<2x4xf32>
  ark.return %1 : tensor<2x4xf32>
}

// A value computed in a part of a destination uses the memory of this part.
// CHECK-LABEL: ark.program @partOfADestination
// CHECK: ark.task "norm+rope" grid [2]
// CHECK: %[[OWN:.*]] = tensor.empty() : tensor<1x8xf32>
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[OWN]][0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
// CHECK: %[[NORM:.*]] = linalg.negf {{.*}} outs(%[[SLICE]]
// CHECK-NOT: tensor.empty
// CHECK: tensor.insert_slice %[[NORM]] into %[[OWN]]
ark.program @partOfADestination(%x: tensor<2x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x8xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<2x8xf32>
  %0 = ark.task "norm" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      outs(%e0[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      attributes {ops = ["rmsnorm"]} {
  ^bb0(%i: index, %a: tensor<1x8xf32>, %o: tensor<1x8xf32>):
    %s = tensor.extract_slice %a[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %p = tensor.extract_slice %o[0, 0] [1, 8] [1, 1] : tensor<1x8xf32> to tensor<8xf32>
    %r = linalg.negf ins(%s : tensor<8xf32>) outs(%p : tensor<8xf32>) -> tensor<8xf32>
    %w = tensor.insert_slice %r into %o[0, 0] [1, 8] [1, 1] : tensor<8xf32> into tensor<1x8xf32>
    ark.yield %w : tensor<1x8xf32>
  } : tensor<2x8xf32>
  %e1 = tensor.empty() : tensor<2x8xf32>
  %1 = ark.task "rope" grid [2]
      ins(%0[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      attributes {ops = ["rope"]} {
  ^bb0(%i: index, %a: tensor<1x8xf32>, %o: tensor<1x8xf32>):
    %r = linalg.exp ins(%a : tensor<1x8xf32>) outs(%o : tensor<1x8xf32>) -> tensor<1x8xf32>
    ark.yield %r : tensor<1x8xf32>
  } : tensor<2x8xf32>
  ark.return %1 : tensor<2x8xf32>
}

// The last tile has five elements.
// CHECK-LABEL: ark.program @clippedPartners
// CHECK: ark.task "gate+up" grid [2]
// CHECK: ^bb0(%[[I:.*]]: index,
// CHECK: %[[SIZE:.*]] = affine.min {{.*}}(%[[I]])
// CHECK: tensor.empty(%[[SIZE]]) : tensor<?xf32>
ark.program @clippedPartners(%x: tensor<13xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<13xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<13xf32>
  %0 = ark.task "gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<13xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<13xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<?xf32>, %o: tensor<?xf32>):
    %r = linalg.negf ins(%a : tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
    ark.yield %r : tensor<?xf32>
  } : tensor<13xf32>
  %e1 = tensor.empty() : tensor<13xf32>
  %1 = ark.task "up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<13xf32>,
          %0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<13xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<13xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<?xf32>, %b: tensor<?xf32>, %o: tensor<?xf32>):
    %r = linalg.mul ins(%a, %b : tensor<?xf32>, tensor<?xf32>) outs(%o : tensor<?xf32>) -> tensor<?xf32>
    ark.yield %r : tensor<?xf32>
  } : tensor<13xf32>
  ark.return %1 : tensor<13xf32>
}

// Both tasks read all of x, and write different results.
// CHECK-LABEL: ark.program @siblings
// CHECK: %[[R:.*]]:2 = ark.task "q+k" grid [2]
// CHECK-SAME: ins(%arg0[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>, %arg1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>, %arg2[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
// CHECK-SAME: outs(%{{.*}} : tensor<16xf32>, %{{.*}} : tensor<8xf32>)
// CHECK: ark.return %[[R]]#0, %[[R]]#1
ark.program @siblings(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %w: tensor<16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"}, %v: tensor<8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<16xf32> {ark.name = "y0"}, tensor<8xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "q" grid [2]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>,
          %w[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<16xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %s = tensor.extract_slice %a[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
    %r = linalg.mul ins(%s, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<8xf32>
  %1 = ark.task "k" grid [2]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>,
          %v[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<16xf32>, %b: tensor<4xf32>, %o: tensor<4xf32>):
    %s = tensor.extract_slice %a[0] [4] [1] : tensor<16xf32> to tensor<4xf32>
    %r = linalg.mul ins(%s, %b : tensor<4xf32>, tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<8xf32>
  ark.return %0, %1 : tensor<16xf32>, tensor<8xf32>
}

// Each vCTA recomputes the value that all of them read.
// CHECK-LABEL: ark.program @prologue
// CHECK: ark.task "norm+fc" grid [2]
// CHECK-SAME: ins(%arg0[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>, %arg1[
// CHECK: %[[OWN:.*]] = tensor.empty() : tensor<16xf32>
// CHECK: %[[NORM:.*]] = linalg.exp {{.*}} outs(%[[OWN]]
// CHECK: tensor.extract_slice %[[NORM]]
// CHECK-NOT: ark.task
ark.program @prologue(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %w: tensor<16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<16xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "norm" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      attributes {ops = ["rmsnorm"]} {
  ^bb0(%i: index, %a: tensor<16xf32>, %o: tensor<16xf32>):
    %r = linalg.exp ins(%a : tensor<16xf32>) outs(%o : tensor<16xf32>) -> tensor<16xf32>
    ark.yield %r : tensor<16xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "fc" grid [2]
      ins(%0[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>,
          %w[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<16xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %s = tensor.extract_slice %a[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
    %r = linalg.mul ins(%s, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  ark.return %1 : tensor<16xf32>
}

// The first grid is a prefix of the second one: each vCTA repeats the vCTA with its first index.
// CHECK-LABEL: ark.program @gridIsAPrefix
// CHECK: ark.task "rope+attention" grid [2, 3]
// CHECK-SAME: ins(%arg0[#ark.region<(d0, d1) -> (d0 * 8), [8]>] : tensor<16xf32>, %arg1[#ark.region<(d0, d1) -> (d0 * 8, d1), [8, 1]>] : tensor<16x3xf32>)
// CHECK: ^bb0(%[[HEAD:.*]]: index, %{{.*}}: index,
// CHECK: linalg.index
// CHECK: arith.addi %{{.*}}, %[[HEAD]]
// CHECK-NOT: ark.task
ark.program @gridIsAPrefix(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %w: tensor<16x3xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<16x3xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "rope" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["rope"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) {
    ^bb0(%in: f32, %out: f32):
      %j = linalg.index 0 : index
      %k = arith.addi %j, %i : index
      %n = arith.index_cast %k : index to i32
      %f = arith.sitofp %n : i32 to f32
      %s = arith.addf %in, %f : f32
      linalg.yield %s : f32
    } -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16x3xf32>
  %1 = ark.task "attention" grid [2, 3]
      ins(%0[#ark.region<(d0, d1) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %w[#ark.region<(d0, d1) -> (d0 * 8, d1), [8, 1]>] : tensor<16x3xf32>)
      outs(%e1[#ark.region<(d0, d1) -> (d0 * 8, d1), [8, 1]>] : tensor<16x3xf32>)
      attributes {ops = ["attention"]} {
  ^bb0(%i: index, %j: index, %a: tensor<8xf32>, %b: tensor<8x1xf32>, %o: tensor<8x1xf32>):
    %c = tensor.expand_shape %a [[0, 1]] output_shape [8, 1] : tensor<8xf32> into tensor<8x1xf32>
    %r = linalg.mul ins(%c, %b : tensor<8x1xf32>, tensor<8x1xf32>) outs(%o : tensor<8x1xf32>) -> tensor<8x1xf32>
    ark.yield %r : tensor<8x1xf32>
  } : tensor<16x3xf32>
  ark.return %1 : tensor<16x3xf32>
}

// The second index splits the result of the first task, so these tasks stay apart.
// CHECK-LABEL: ark.program @gridIsAPrefixButPartsDiffer
// CHECK: ark.task "norm" grid [2]
// CHECK: ark.task "fc" grid [2, 2]
ark.program @gridIsAPrefixButPartsDiffer(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "norm" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.exp ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "fc" grid [2, 2]
      ins(%0[#ark.region<(d0, d1) -> (d0 * 8 + d1 * 4), [4]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0, d1) -> (d0 * 8 + d1 * 4), [4]>] : tensor<16xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %j: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<16xf32>
  ark.return %1 : tensor<16xf32>
}

// The state stays an out of the fused task, and the other out is a new tensor.
// CHECK-LABEL: ark.program @updateAndItsReader
// CHECK: %[[R:.*]]:2 = ark.task "cache+attention" grid [2]
// CHECK-SAME: outs(%arg1[{{.*}}] : tensor<2x16xf32>, %{{.*}} : tensor<2x16xf32>)
// CHECK-SAME: fresh_outs = array<i64: 1>, in_place, ops = ["update", "attention"]
// CHECK: %[[NEW:.*]] = tensor.insert_slice
// CHECK: linalg.exp ins(%[[NEW]]
// CHECK: ark.return %[[R]]#1
ark.program @updateAndItsReader(%x: tensor<2x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %s: tensor<2x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x16xf32> {ark.name = "y0"}) {
  %0 = ark.task "cache" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 1]>] : tensor<2x1xf32>)
      outs(%s[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      attributes {ops = ["update"], in_place} {
  ^bb0(%i: index, %a: tensor<1x1xf32>, %o: tensor<1x16xf32>):
    %r = tensor.insert_slice %a into %o[0, 3] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<2x16xf32>
  %e1 = tensor.empty() : tensor<2x16xf32>
  %1 = ark.task "attention" grid [2]
      ins(%0[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      attributes {ops = ["attention"]} {
  ^bb0(%i: index, %a: tensor<1x16xf32>, %o: tensor<1x16xf32>):
    %r = linalg.exp ins(%a : tensor<1x16xf32>) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<2x16xf32>
  ark.return %1 : tensor<2x16xf32>
}

//===----------------------------------------------------------------------===//
// Tasks that are not fused
//===----------------------------------------------------------------------===//

// The grids differ.
// CHECK-LABEL: ark.program @otherGrids
// CHECK: ark.task "mlp.gate"
// CHECK: ark.task "mlp.up"
ark.program @otherGrids(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [4]
      ins(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.negf ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  ark.return %1 : tensor<16xf32>
}

// `up` also reads results of other vCTAs of `gate`.
// CHECK-LABEL: ark.program @partsOfOthers
// CHECK: ark.task "mlp.gate"
// CHECK: ark.task "mlp.up"
ark.program @partsOfOthers(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %0[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<16xf32>, %o: tensor<8xf32>):
    %s = tensor.extract_slice %b[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
    %r = linalg.mul ins(%a, %s : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  ark.return %1 : tensor<16xf32>
}

// Every vCTA of the second task reads a part at a dynamic offset of a tile of the first task.
// CHECK-LABEL: ark.program @partsAtDynamicOffsets
// CHECK: ark.task "norm"
// CHECK: ark.task "rope"
ark.program @partsAtDynamicOffsets(%x: tensor<2x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x4xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<2x8xf32>
  %0 = ark.task "norm" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      outs(%e0[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      attributes {ops = ["rmsnorm"]} {
  ^bb0(%i: index, %a: tensor<1x8xf32>, %o: tensor<1x8xf32>):
    %r = linalg.negf ins(%a : tensor<1x8xf32>) outs(%o : tensor<1x8xf32>) -> tensor<1x8xf32>
    ark.yield %r : tensor<1x8xf32>
  } : tensor<2x8xf32>
  %e1 = tensor.empty() : tensor<2x4xf32>
  %1 = ark.task "rope" grid [2]
      ins(%0[#ark.region<(d0) -> (d0, d0 * 4), [1, 4]>] : tensor<2x8xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 4]>] : tensor<2x4xf32>)
      attributes {ops = ["rope"]} {
  ^bb0(%i: index, %a: tensor<1x4xf32>, %o: tensor<1x4xf32>):
    %r = linalg.exp ins(%a : tensor<1x4xf32>) outs(%o : tensor<1x4xf32>) -> tensor<1x4xf32>
    ark.yield %r : tensor<1x4xf32>
  } : tensor<2x4xf32>
  ark.return %1 : tensor<2x4xf32>
}

// The view changes the indices of the elements.
// CHECK-LABEL: ark.program @throughAView
// CHECK: ark.task "mlp.gate"
// CHECK: ark.task "mlp.up"
ark.program @throughAView(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x8xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %v = ark.reshape %0 shape = [2, 8] : (tensor<16xf32>) -> tensor<2x8xf32>
  %e1 = tensor.empty() : tensor<2x8xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%v[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 8]>] : tensor<2x8xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<1x8xf32>, %o: tensor<1x8xf32>):
    %r = linalg.exp ins(%a : tensor<1x8xf32>) outs(%o : tensor<1x8xf32>) -> tensor<1x8xf32>
    ark.yield %r : tensor<1x8xf32>
  } : tensor<2x8xf32>
  ark.return %1 : tensor<2x8xf32>
}

// `down` reads `gate` only, and would wait for `up` as well.
// CHECK-LABEL: ark.program @otherReaders
// CHECK: ark.task "mlp.gate"
// CHECK: ark.task "mlp.up"
ark.program @otherReaders(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}, tensor<16xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e2 = tensor.empty() : tensor<16xf32>
  %2 = ark.task "mlp.down" grid [1]
      ins(%0[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      outs(%e2[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<16xf32>, %o: tensor<16xf32>):
    %r = linalg.exp ins(%a : tensor<16xf32>) outs(%o : tensor<16xf32>) -> tensor<16xf32>
    ark.yield %r : tensor<16xf32>
  } : tensor<16xf32>
  ark.return %1, %2 : tensor<16xf32>, tensor<16xf32>
}

// `down` waits for `up` in any case, so that the fusion delays no reader of `gate`.
// CHECK-LABEL: ark.program @firstReader
// CHECK: %[[BOTH:.*]]:2 = ark.task "mlp.gate+up" grid [2]
// CHECK: %[[GATE:.*]] = linalg.negf
// CHECK: %[[UP:.*]] = linalg.mul ins({{.*}}, %[[GATE]] :
// CHECK: ark.yield %[[GATE]], %[[UP]]
// CHECK: ark.task "mlp.down" grid [1] ins(%[[BOTH]]#0[{{.*}}%[[BOTH]]#1[
ark.program @firstReader(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}, tensor<16xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e2 = tensor.empty() : tensor<16xf32>
  %2 = ark.task "mlp.down" grid [1]
      ins(%0[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>,
          %1[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      outs(%e2[#ark.region<(d0) -> (0), [16]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<16xf32>, %b: tensor<16xf32>, %o: tensor<16xf32>):
    %r = linalg.mul ins(%a, %b : tensor<16xf32>, tensor<16xf32>) outs(%o : tensor<16xf32>) -> tensor<16xf32>
    ark.yield %r : tensor<16xf32>
  } : tensor<16xf32>
  ark.return %1, %2 : tensor<16xf32>, tensor<16xf32>
}

// The program returns `gate`, which no task waits for.
// CHECK-LABEL: ark.program @returnedResult
// CHECK: %[[BOTH:.*]]:2 = ark.task "mlp.gate+up" grid [2]
// CHECK: ark.return %[[BOTH]]#0, %[[BOTH]]#1
ark.program @returnedResult(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}, tensor<16xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  ark.return %0, %1 : tensor<16xf32>, tensor<16xf32>
}

// The plans pin the tasks to different SMs.
// CHECK-LABEL: ark.program @otherPlans
// CHECK: ark.task "mlp.gate"
// CHECK: ark.task "mlp.up"
ark.program @otherPlans(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"], plan = {sms = [0, 1]}} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  ark.return %1 : tensor<16xf32>
}

// `up` depends on a third task that depends on `gate`.
// CHECK-LABEL: ark.program @somethingBetween
// CHECK: ark.task "mlp.gate"
// CHECK: ark.task "mlp.mid"
// CHECK: ark.task "mlp.up"
ark.program @somethingBetween(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<16xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<16xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["silu"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.negf ins(%a : tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  %e2 = tensor.empty() : tensor<16xf32>
  %2 = ark.task "mlp.mid" grid [4]
      ins(%0[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<16xf32>)
      outs(%e2[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<16xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<16xf32>
  %e1 = tensor.empty() : tensor<16xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%0[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>,
          %2[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<16xf32>)
      attributes {ops = ["mul"]} {
  ^bb0(%i: index, %a: tensor<8xf32>, %b: tensor<8xf32>, %o: tensor<8xf32>):
    %r = linalg.mul ins(%a, %b : tensor<8xf32>, tensor<8xf32>) outs(%o : tensor<8xf32>) -> tensor<8xf32>
    ark.yield %r : tensor<8xf32>
  } : tensor<16xf32>
  ark.return %1 : tensor<16xf32>
}

// `old` reads the state before the update, at elements that another vCTA of the
// fused task may update.
// CHECK-LABEL: ark.program @oldVersion
// CHECK: ark.task "old"
// CHECK: ark.task "cache+attention"
ark.program @oldVersion(%x: tensor<2x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %s: tensor<2x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x16xf32> {ark.name = "y0"}, tensor<2x16xf32> {ark.name = "y1"}) {
  %e2 = tensor.empty() : tensor<2x16xf32>
  %2 = ark.task "old" grid [2]
      ins(%s[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      outs(%e2[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<1x16xf32>, %o: tensor<1x16xf32>):
    %r = linalg.exp ins(%a : tensor<1x16xf32>) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<2x16xf32>
  %0 = ark.task "cache" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 1]>] : tensor<2x1xf32>)
      outs(%s[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      attributes {ops = ["update"], in_place} {
  ^bb0(%i: index, %a: tensor<1x1xf32>, %o: tensor<1x16xf32>):
    %r = tensor.insert_slice %a into %o[0, 3] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<2x16xf32>
  %e1 = tensor.empty() : tensor<2x16xf32>
  %1 = ark.task "attention" grid [2]
      ins(%0[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      attributes {ops = ["attention"]} {
  ^bb0(%i: index, %a: tensor<1x16xf32>, %o: tensor<1x16xf32>):
    %r = linalg.exp ins(%a : tensor<1x16xf32>) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<2x16xf32>
  ark.return %2, %1 : tensor<2x16xf32>, tensor<2x16xf32>
}

// 32 vCTAs of every SM would recompute the norm.
// CHECK-LABEL: ark.program @tooMuchToRecompute
// CHECK: ark.task "norm"
// CHECK: ark.task "fc"
ark.program @tooMuchToRecompute(%x: tensor<4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %w: tensor<4096xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<4096xf32>
  %0 = ark.task "norm" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [4096]>] : tensor<4096xf32>)
      outs(%e0[#ark.region<(d0) -> (0), [4096]>] : tensor<4096xf32>)
      attributes {ops = ["rmsnorm"]} {
  ^bb0(%i: index, %a: tensor<4096xf32>, %o: tensor<4096xf32>):
    %r = linalg.exp ins(%a : tensor<4096xf32>) outs(%o : tensor<4096xf32>) -> tensor<4096xf32>
    ark.yield %r : tensor<4096xf32>
  } : tensor<4096xf32>
  %e1 = tensor.empty() : tensor<4096xf32>
  %1 = ark.task "fc" grid [64]
      ins(%0[#ark.region<(d0) -> (0), [4096]>] : tensor<4096xf32>,
          %w[#ark.region<(d0) -> (d0 * 64), [64]>] : tensor<4096xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 64), [64]>] : tensor<4096xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<4096xf32>, %b: tensor<64xf32>, %o: tensor<64xf32>):
    %s = tensor.extract_slice %a[0] [64] [1] : tensor<4096xf32> to tensor<64xf32>
    %r = linalg.mul ins(%s, %b : tensor<64xf32>, tensor<64xf32>) outs(%o : tensor<64xf32>) -> tensor<64xf32>
    ark.yield %r : tensor<64xf32>
  } : tensor<4096xf32>
  ark.return %1 : tensor<4096xf32>
}

// Side by side, on one SM each, the tasks are faster than fused on both SMs.
// CHECK-LABEL: ark.program @sideBySide
// CHECK: ark.task "a"
// CHECK: ark.task "b"
ark.program @sideBySide(%x: tensor<65536xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<65536xf32> {ark.name = "y0"}, tensor<65536xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<65536xf32>
  %0 = ark.task "a" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [65536]>] : tensor<65536xf32>)
      outs(%e0[#ark.region<(d0) -> (0), [65536]>] : tensor<65536xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<65536xf32>, %o: tensor<65536xf32>):
    %r = linalg.exp ins(%a : tensor<65536xf32>) outs(%o : tensor<65536xf32>) -> tensor<65536xf32>
    ark.yield %r : tensor<65536xf32>
  } : tensor<65536xf32>
  %e1 = tensor.empty() : tensor<65536xf32>
  %1 = ark.task "b" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [65536]>] : tensor<65536xf32>)
      outs(%e1[#ark.region<(d0) -> (0), [65536]>] : tensor<65536xf32>)
      attributes {ops = ["log"]} {
  ^bb0(%i: index, %a: tensor<65536xf32>, %o: tensor<65536xf32>):
    %r = linalg.log ins(%a : tensor<65536xf32>) outs(%o : tensor<65536xf32>) -> tensor<65536xf32>
    ark.yield %r : tensor<65536xf32>
  } : tensor<65536xf32>
  ark.return %0, %1 : tensor<65536xf32>, tensor<65536xf32>
}

// The temporary would take 128 KiB.
// CHECK-LABEL: ark.program @tooLargeInside
// CHECK: ark.task "mlp.gate"
// CHECK: ark.task "mlp.up"
ark.program @tooLargeInside(%x: tensor<2x32768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<2x32768xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 32768]>] : tensor<2x32768xf32>)
      outs(%e0[#ark.region<(d0) -> (d0, 0), [1, 32768]>] : tensor<2x32768xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<1x32768xf32>, %o: tensor<1x32768xf32>):
    %r = linalg.exp ins(%a : tensor<1x32768xf32>) outs(%o : tensor<1x32768xf32>) -> tensor<1x32768xf32>
    ark.yield %r : tensor<1x32768xf32>
  } : tensor<2x32768xf32>
  %e1 = tensor.empty() : tensor<2xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%0[#ark.region<(d0) -> (d0, 0), [1, 32768]>] : tensor<2x32768xf32>)
      outs(%e1[#ark.region<(d0) -> (d0), [1]>] : tensor<2xf32>)
      attributes {ops = ["reduce_sum"]} {
  ^bb0(%i: index, %a: tensor<1x32768xf32>, %o: tensor<1xf32>):
    %r = linalg.reduce { arith.addf } ins(%a : tensor<1x32768xf32>) outs(%o : tensor<1xf32>) dimensions = [1]
    ark.yield %r : tensor<1xf32>
  } : tensor<2xf32>
  ark.return %1 : tensor<2xf32>
}

// Elementwise ops keep the 128 KiB between them in registers if the second task updates a state.
// CHECK-LABEL: ark.program @staysInRegisters
// CHECK: ark.task "mlp.gate+up"
ark.program @staysInRegisters(%x: tensor<65536xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<65536xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %e0 = tensor.empty() : tensor<65536xf32>
  %0 = ark.task "mlp.gate" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 32768), [32768]>] : tensor<65536xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 32768), [32768]>] : tensor<65536xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<32768xf32>, %o: tensor<32768xf32>):
    %r = linalg.exp ins(%a : tensor<32768xf32>) outs(%o : tensor<32768xf32>) -> tensor<32768xf32>
    ark.yield %r : tensor<32768xf32>
  } : tensor<65536xf32>
  %1 = ark.task "mlp.up" grid [2]
      ins(%0[#ark.region<(d0) -> (d0 * 32768), [32768]>] : tensor<65536xf32>)
      outs(%s[#ark.region<(d0) -> (d0 * 32768), [32768]>] : tensor<65536xf32>)
      attributes {in_place, ops = ["log"]} {
  ^bb0(%i: index, %a: tensor<32768xf32>, %o: tensor<32768xf32>):
    %r = linalg.log ins(%a : tensor<32768xf32>) outs(%o : tensor<32768xf32>) -> tensor<32768xf32>
    ark.yield %r : tensor<32768xf32>
  } : tensor<65536xf32>
  ark.return
}

// Each vCTA updates the elements of a state that it has read before.
// CHECK-LABEL: ark.program @updatesWhatItReads
// CHECK: ark.task "moment+update" grid [2] ins(%[[M:.+]][#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>) outs(%[[M]][#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
ark.program @updatesWhatItReads(%m: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "m"}) {
  %e0 = tensor.empty() : tensor<8xf32>
  %0 = ark.task "moment" grid [2]
      ins(%m[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<8xf32>
  %1 = ark.task "update" grid [2]
      ins(%0[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%m[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      attributes {in_place, ops = ["update"]} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.copy ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<8xf32>
  ark.return
}

// The other vCTA updates what a vCTA of the first task reads.
// CHECK-LABEL: ark.program @updatesWhatOthersRead
// CHECK: ark.task "moment" grid [2]
// CHECK: ark.task "update" grid [2]
ark.program @updatesWhatOthersRead(%m: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "m"}) {
  %e0 = tensor.empty() : tensor<8xf32>
  %0 = ark.task "moment" grid [2]
      ins(%m[#ark.region<(d0) -> (d0 * -4 + 4), [4]>] : tensor<8xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<8xf32>
  %1 = ark.task "update" grid [2]
      ins(%0[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%m[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      attributes {in_place, ops = ["update"]} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.copy ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<8xf32>
  ark.return
}

// If contractions were fused with contractions, all layers of a network would become one body.
// CHECK-LABEL: ark.program @chainOfContractions
// CHECK: ark.task "fc1"
// CHECK: ark.task "fc2"
ark.program @chainOfContractions(%x: tensor<8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<8x4xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<8x4xf32>
  %0 = ark.task "fc1" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 4, 0), [4, 4]>] : tensor<8x4xf32>,
          %w[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 4, 0), [4, 4]>] : tensor<8x4xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %o: tensor<4x4xf32>):
    %r = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
    ark.yield %r : tensor<4x4xf32>
  } : tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<8x4xf32>
  %1 = ark.task "fc2" grid [2]
      ins(%0[#ark.region<(d0) -> (d0 * 4, 0), [4, 4]>] : tensor<8x4xf32>,
          %w[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 4, 0), [4, 4]>] : tensor<8x4xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %o: tensor<4x4xf32>):
    %r = linalg.matmul ins(%a, %b : tensor<4x4xf32>, tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
    ark.yield %r : tensor<4x4xf32>
  } : tensor<8x4xf32>
  ark.return %1 : tensor<8x4xf32>
}

// The update may write anywhere, so its reader depends on all of its vCTAs.
// CHECK-LABEL: ark.program @sharedState
// CHECK: ark.task "cache"
// CHECK: ark.task "attention"
ark.program @sharedState(%x: tensor<2x1xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %s: tensor<2x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<2x16xf32> {ark.name = "y0"}) {
  %0 = ark.task "cache" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 1]>] : tensor<2x1xf32>)
      outs(%s[#ark.region<(d0) -> (0, 0), [2, 16]>] : tensor<2x16xf32>)
      attributes {ops = ["update"], in_place} {
  ^bb0(%i: index, %a: tensor<1x1xf32>, %o: tensor<2x16xf32>):
    %r = tensor.insert_slice %a into %o[%i, 3] [1, 1] [1, 1] : tensor<1x1xf32> into tensor<2x16xf32>
    ark.yield %r : tensor<2x16xf32>
  } : tensor<2x16xf32>
  %e1 = tensor.empty() : tensor<2x16xf32>
  %1 = ark.task "attention" grid [2]
      ins(%0[#ark.region<(d0) -> (0, 0), [2, 16]>] : tensor<2x16xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 16]>] : tensor<2x16xf32>)
      attributes {ops = ["attention"]} {
  ^bb0(%i: index, %a: tensor<2x16xf32>, %o: tensor<1x16xf32>):
    %p = tensor.extract_slice %a[%i, 0] [1, 16] [1, 1] : tensor<2x16xf32> to tensor<1x16xf32>
    %r = linalg.exp ins(%p : tensor<1x16xf32>) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<2x16xf32>
  ark.return %1 : tensor<2x16xf32>
}
}
