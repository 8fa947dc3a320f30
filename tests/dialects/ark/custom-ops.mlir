// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK-LABEL: @oneInput
func.func @oneInput(%x: tensor<32xf32>) -> tensor<32xf32> {
  // CHECK: ark.custom grid [2] ins(%{{.+}}[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
  // CHECK-SAME: out <(d0) -> (d0 * 16), [16]> {
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<32xf32>)
      out <(d0) -> (d0 * 16), [16]> {
  // CHECK: ^bb0(%{{.+}}: index, %[[A:.+]]: tensor<16xf32>, %{{.+}}: tensor<16xf32>):
  ^bb0(%i: index, %a: tensor<16xf32>, %o: tensor<16xf32>):
    // CHECK: ark.exp %[[A]]
    %1 = ark.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    // CHECK: ark.yield %{{.+}} : tensor<16xf32>
    ark.yield %1 : tensor<16xf32>
  // CHECK: } : tensor<32xf32>
  } : tensor<32xf32>
  return %0 : tensor<32xf32>
}

// CHECK-LABEL: @noInputs
func.func @noInputs() -> tensor<4xf32> {
  // CHECK: ark.custom grid [2, 2] ins() out <(d0, d1) -> (d0 * 2 + d1), [1]> {
  %0 = ark.custom grid [2, 2] ins() out <(d0, d1) -> (d0 * 2 + d1), [1]> {
  ^bb0(%i: index, %j: index, %o: tensor<1xf32>):
    ark.yield %o : tensor<1xf32>
  } : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The last vCTA's parts are clipped, so that the extents of tiles are dynamic.
// CHECK-LABEL: @clipped
func.func @clipped(%x: tensor<20x4xf16>) -> tensor<20xf16> {
  // CHECK: ^bb0(%{{.+}}: index, %{{.+}}: tensor<?x4xf16>, %{{.+}}: tensor<?xf16>):
  %0 = ark.custom grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16, 0), [16, 4]>] : tensor<20x4xf16>)
      out <(d0) -> (d0 * 16), [16]> {
  ^bb0(%i: index, %a: tensor<?x4xf16>, %o: tensor<?xf16>):
    ark.yield %o : tensor<?xf16>
  } : tensor<20xf16>
  return %0 : tensor<20xf16>
}
