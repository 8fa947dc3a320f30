// RUN: ark-opt %s --ark-join-elementwise --split-input-file | FileCheck %s
// RUN: ark-opt %s --ark-join-elementwise=max-tiles=4 --split-input-file | FileCheck %s --check-prefix=FEW

// A step of an optimizer: gradient, weight and moment are read once, and the new moment, which two
// ops read, stays in a register. The rate is a number, the scale a value of another task.
// CHECK-LABEL: ark.program @optimizer
// CHECK: ^bb0(%{{.+}}: index, %[[G:.+]]: tensor<4x8xf32>, %[[M:.+]]: tensor<4x8xf32>, %[[W:.+]]: tensor<4x8xf32>, %[[S:.+]]: tensor<f32>, %[[NEW_M:.+]]: tensor<4x8xf32>, %[[NEW_W:.+]]: tensor<4x8xf32>):
// CHECK-NEXT: %[[RATE:.+]] = arith.constant
// CHECK-NEXT: %[[R:.+]]:2 = linalg.generic {{.*}} ins(%[[G]], %[[M]], %[[W]], %[[S]] : {{.*}}) outs(%[[NEW_M]], %[[NEW_W]] :
// CHECK-NEXT: ^bb0(%[[g:.+]]: f32, %[[m:.+]]: f32, %[[w:.+]]: f32, %[[s:.+]]: f32, %{{.+}}: f32, %{{.+}}: f32):
// CHECK-NEXT:   %[[SUM:.+]] = arith.addf %[[m]], %[[g]]
// CHECK-NEXT:   %[[MOVE:.+]] = arith.mulf %[[SUM]], %[[RATE]]
// CHECK-NEXT:   %[[SCALED:.+]] = arith.mulf %[[MOVE]], %[[s]]
// CHECK-NEXT:   %[[DIFF:.+]] = arith.subf %[[w]], %[[SCALED]]
// CHECK-NEXT:   linalg.yield %[[SUM]], %[[DIFF]]
// CHECK-NEXT: }
// CHECK-NEXT: ark.yield %[[R]]#0, %[[R]]#1
// With five tiles, the ops of the moment and of the weight stay two.
// FEW-LABEL: ark.program @optimizer
// FEW: linalg.generic
// FEW: linalg.generic
// FEW: ark.yield
#map = affine_map<(d0, d1) -> (d0, d1)>
#scalar = affine_map<(d0, d1) -> ()>
#none = affine_map<() -> ()>
ark.program @optimizer(%g: tensor<8x8xf32> {ark.kind = #ark.kind<input>, ark.name = "g"},
    %s: tensor<f32> {ark.kind = #ark.kind<input>, ark.name = "s"},
    %m: tensor<8x8xf32> {ark.kind = #ark.kind<state>, ark.name = "m"},
    %w: tensor<8x8xf32> {ark.kind = #ark.kind<state>, ark.name = "w"}) {
  %0:2 = ark.task "step" grid [2]
      ins(%g[#ark.region<(d0) -> (d0 * 4, 0), [4, 8]>] : tensor<8x8xf32>,
          %m[#ark.region<(d0) -> (d0 * 4, 0), [4, 8]>] : tensor<8x8xf32>,
          %w[#ark.region<(d0) -> (d0 * 4, 0), [4, 8]>] : tensor<8x8xf32>,
          %s[#ark.region<(d0) -> (), []>] : tensor<f32>)
      outs(%m[#ark.region<(d0) -> (d0 * 4, 0), [4, 8]>] : tensor<8x8xf32>,
           %w[#ark.region<(d0) -> (d0 * 4, 0), [4, 8]>] : tensor<8x8xf32>)
      attributes {in_place, ops = ["add", "update"]} {
  ^bb0(%i: index, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %c: tensor<4x8xf32>, %d: tensor<f32>,
       %o: tensor<4x8xf32>, %p: tensor<4x8xf32>):
    %rate = arith.constant 0.5 : f32
    %e0 = tensor.empty() : tensor<f32>
    %r0 = linalg.generic {indexing_maps = [#none], iterator_types = []} outs(%e0 : tensor<f32>) {
    ^bb0(%out: f32):
      linalg.yield %rate : f32
    } -> tensor<f32>
    %e1 = tensor.empty() : tensor<4x8xf32>
    %r1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel", "parallel"]}
        ins(%a, %b : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e1 : tensor<4x8xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %1 = arith.addf %y, %x : f32
      linalg.yield %1 : f32
    } -> tensor<4x8xf32>
    %r2 = linalg.copy ins(%r1 : tensor<4x8xf32>) outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
    %r3 = linalg.generic {indexing_maps = [#map, #map, #scalar, #scalar, #map], iterator_types = ["parallel", "parallel"]}
        ins(%c, %r1, %r0, %d : tensor<4x8xf32>, tensor<4x8xf32>, tensor<f32>, tensor<f32>) outs(%p : tensor<4x8xf32>) {
    ^bb0(%x: f32, %y: f32, %z: f32, %t: f32, %out: f32):
      %1 = arith.mulf %y, %z : f32
      %2 = arith.mulf %1, %t : f32
      %3 = arith.subf %x, %2 : f32
      linalg.yield %3 : f32
    } -> tensor<4x8xf32>
    ark.yield %r2, %r3 : tensor<4x8xf32>, tensor<4x8xf32>
  } : tensor<8x8xf32>, tensor<8x8xf32>
  ark.return
}

// -----

// Unchanged: a reader of transposed elements, ops without a common tile, bodies with a reduction, and
// tasks that update no state.
// CHECK-LABEL: ark.program @unchanged
// CHECK: ark.task "transposed"
// CHECK: linalg.exp
// CHECK: linalg.transpose
// CHECK: ark.task "strangers"
// CHECK: linalg.exp
// CHECK: linalg.log
// CHECK: ark.task "reduced"
// CHECK: linalg.exp
// CHECK: linalg.log
// CHECK: linalg.reduce
// CHECK: ark.task "fresh"
// CHECK: linalg.exp
// CHECK: linalg.log
ark.program @unchanged(%x: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %s0: tensor<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s0"},
    %s1: tensor<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s1"},
    %s2: tensor<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s2"},
    %s3: tensor<4xf32> {ark.kind = #ark.kind<state>, ark.name = "s3"})
    -> (tensor<4x4xf32> {ark.name = "f"}) {
  %0 = ark.task "transposed" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>)
      outs(%s0[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>) attributes {in_place, ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<4x4xf32>, %o: tensor<4x4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %r = linalg.exp ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = linalg.transpose ins(%r : tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) permutation = [1, 0]
    ark.yield %t : tensor<4x4xf32>
  } : tensor<4x4xf32>
  %1:2 = ark.task "strangers" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>,
          %y[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>)
      outs(%s1[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>,
           %s2[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>) attributes {in_place, ops = ["exp", "log"]} {
  ^bb0(%i: index, %a: tensor<4x4xf32>, %b: tensor<4x4xf32>, %o: tensor<4x4xf32>, %p: tensor<4x4xf32>):
    %r = linalg.exp ins(%a : tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = linalg.log ins(%b : tensor<4x4xf32>) outs(%p : tensor<4x4xf32>) -> tensor<4x4xf32>
    ark.yield %r, %t : tensor<4x4xf32>, tensor<4x4xf32>
  } : tensor<4x4xf32>, tensor<4x4xf32>
  %2 = ark.task "reduced" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>)
      outs(%s3[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) attributes {in_place, ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<4x4xf32>, %o: tensor<4xf32>):
    %e = tensor.empty() : tensor<4x4xf32>
    %r = linalg.exp ins(%a : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %t = linalg.log ins(%r : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %s = linalg.reduce { arith.addf } ins(%t : tensor<4x4xf32>) outs(%o : tensor<4xf32>) dimensions = [1]
    ark.yield %s : tensor<4xf32>
  } : tensor<4xf32>
  %e = tensor.empty() : tensor<4x4xf32>
  %3 = ark.task "fresh" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [4, 4]>] : tensor<4x4xf32>) attributes {ops = ["exp"]} {
  ^bb0(%i: index, %a: tensor<4x4xf32>, %o: tensor<4x4xf32>):
    %t = tensor.empty() : tensor<4x4xf32>
    %r = linalg.exp ins(%a : tensor<4x4xf32>) outs(%t : tensor<4x4xf32>) -> tensor<4x4xf32>
    %l = linalg.log ins(%r : tensor<4x4xf32>) outs(%o : tensor<4x4xf32>) -> tensor<4x4xf32>
    ark.yield %l : tensor<4x4xf32>
  } : tensor<4x4xf32>
  ark.return %3 : tensor<4x4xf32>
}
