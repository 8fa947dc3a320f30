// RUN: ark-opt %s --ark-lower-custom --verify-roundtrip | FileCheck %s
// RUN: ark-opt %s --ark-lower-custom --ark-decompose --ark-tile-groups | FileCheck %s --check-prefix=TILED

// CHECK-LABEL: ark.program @becomesTask
// TILED-LABEL: ark.program @becomesTask
// CHECK-SAME: (%[[X:.+]]: tensor<32xf32>
ark.program @becomesTask(
    %x: tensor<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<32xf32> {ark.name = "y"}) {
  // CHECK: %[[E:.+]] = tensor.empty() : tensor<32xf32>
  // CHECK: ark.task "twice" grid [2]
  // CHECK-SAME: ins(%[[X]][#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
  // CHECK-SAME: outs(%[[E]][#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
  // CHECK-SAME: attributes {ops = ["custom"], plan = {warps = 2 : i64}, warps = 2 : i64}
  %0 = ark.group "twice" (%a = %x) attributes {plan = {warps = 2 : i64}}
      : (tensor<32xf32>) -> tensor<32xf32> {
    %1 = ark.custom grid [2] ins(%a[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
        out <(d0) -> (d0 * 16), [16]> {
    // CHECK: ^bb0(%{{.+}}: index, %[[A:.+]]: tensor<16xf32>, %[[O:.+]]: tensor<16xf32>):
    ^bb0(%i: index, %b: tensor<16xf32>, %o: tensor<16xf32>):
      // CHECK: %[[S:.+]] = ark.add %[[A]], %[[A]]
      %2 = ark.add %b, %b : (tensor<16xf32>, tensor<16xf32>) -> tensor<16xf32>
      // CHECK: %[[C:.+]] = linalg.copy ins(%[[S]] : tensor<16xf32>) outs(%[[O]] : tensor<16xf32>)
      // CHECK: ark.yield %[[C]]
      ark.yield %2 : tensor<16xf32>
    } : tensor<32xf32>
    ark.yield %1 : tensor<32xf32>
  }
  // The sum is computed in the tile of the out.
  // TILED: ^bb0(%{{.+}}: index, %[[A:.+]]: tensor<16xf32>, %[[O:.+]]: tensor<16xf32>):
  // TILED-NEXT: %[[R:.+]] = linalg.generic {{.*}} ins(%[[A]]{{.*}} outs(%[[O]] : tensor<16xf32>)
  // TILED: ark.yield %[[R]]
  ark.return %0 : tensor<32xf32>
}

// A constant moves out of the group, and a tensor that is awaited only becomes an input.
// CHECK-LABEL: ark.program @otherOperands
ark.program @otherOperands(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %d: tensor<3x5xf32> {ark.kind = #ark.kind<input>, ark.name = "d"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: %[[ONE:.+]] = ark.constant dense<1.000000e+00> : tensor<8xf32>
  // CHECK: ark.task "g" grid [2]
  // CHECK-SAME: ins(%[[ONE]][#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>,
  // CHECK-SAME: %{{.+}}[#ark.region<(d0) -> (0, 0), [3, 5]>] : tensor<3x5xf32>)
  %0 = ark.group "g" (%e = %d) : (tensor<3x5xf32>) -> tensor<8xf32> {
    %one = ark.constant dense<1.0> : tensor<8xf32>
    %1 = ark.custom grid [2] ins(%one[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
        out <(d0) -> (d0 * 4), [4]> {
    // CHECK: ^bb0(%{{.+}}: index, %{{.+}}: tensor<4xf32>, %{{.+}}: tensor<3x5xf32>, %{{.+}}: tensor<4xf32>):
    ^bb0(%i: index, %b: tensor<4xf32>, %o: tensor<4xf32>):
      ark.yield %b : tensor<4xf32>
    } : tensor<8xf32>
    ark.yield %1 : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}

// CHECK-LABEL: ark.program @otherGroupsStay
ark.program @otherGroupsStay(
    %x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "relu"
  %0 = ark.group "relu" (%a = %x) attributes {tile = array<i64: 8>}
      : (tensor<8xf32>) -> tensor<8xf32> {
    %1 = ark.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    ark.yield %1 : tensor<8xf32>
  }
  ark.return %0 : tensor<8xf32>
}
