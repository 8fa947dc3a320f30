// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-expand-segment-ops --split-input-file | FileCheck %s

// Three custom ops list the slices of each segment, for both sums with these indices. Each counts or searches in parallel.
// CHECK-LABEL: ark.program @listed
// CHECK-SAME: (%[[X:.+]]: tensor<1000x768xbf16> {{.*}}, %[[I:.+]]: tensor<1000xi32> {{.*}})
// A rank is the number of slices that come before.
// CHECK: %[[RANKS:.+]] = ark.custom grid [125] ins(%[[I]][#ark.region<(d0) -> (d0 * 8), [8]>] : tensor<1000xi32>, %[[I]][#ark.region<(d0) -> (0), [1000]>] : tensor<1000xi32>)
// CHECK: %[[ROW:.+]] = arith.muli %{{.+}}, %{{.+}} : index
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]
// CHECK-NEXT: ^bb0(%[[OWN:.+]]: i32, %[[OTHER:.+]]: i32, %[[COUNT:.+]]: i32):
// CHECK: arith.cmpi slt, %[[OTHER]], %[[OWN]] : i32
// CHECK: arith.cmpi eq, %[[OTHER]], %[[OWN]] : i32
// CHECK: arith.cmpi slt, %{{.+}}, %{{.+}} : index
// CHECK: arith.extui
// CHECK: arith.addi %[[COUNT]], %{{.+}} : i32
// CHECK: %[[ORDER:.+]] = ark.custom grid [125] ins(%[[RANKS]][#ark.region<(d0) -> (0), [1000]>] : tensor<1000xi32>) out <(d0) -> (d0 * 8), [8]>
// CHECK: %[[STARTS:.+]] = ark.custom grid [132] ins(%[[I]][{{.*}}] : tensor<1000xi32>, %[[ORDER]][{{.*}}] : tensor<1000xi32>) out <(d0) -> (d0 * 382), [382]>
// A binary search among 1000 slices takes ten steps.
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel"]
// CHECK: %[[STEPS:.+]] = arith.constant 10 : index
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[STEPS]]
// CHECK: %[[SUMS:.+]] = ark.custom grid [1, 264, 1] ins(%{{.+}}[#ark.region<(d0, d1, d2) -> (d0, 0, d2 * 768), [1, 1000, 768]>] : tensor<1x1000x768xbf16>, %[[ORDER]][{{.*}}] : tensor<1000xi32>, %[[STARTS]][{{.*}}] : tensor<50305xi32>)
// The sum of an element is that of its list, and of the slices in their order.
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel"]
// CHECK: scf.for {{.*}} -> (f32)
// CHECK-COUNT-8: arith.addf
// CHECK-NOT: arith.addf
// CHECK: ark.custom grid [1, 264, 1] ins(%{{.+}}[{{.*}}] : tensor<1x1000x8xf32>, %[[ORDER]][{{.*}}] : tensor<1000xi32>, %[[STARTS]][{{.*}}] : tensor<50305xi32>)
ark.program @listed(
    %x: tensor<1000x768xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<1000xi32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %z: tensor<1000x8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<50304x768xf32> {ark.name = "y0"}, tensor<50304x8xf32> {ark.name = "y1"}) {
  %0 = ark.segment_sum %x, %i axis = 0 segments = 50304 : (tensor<1000x768xbf16>, tensor<1000xi32>) -> tensor<50304x768xf32>
  %1 = ark.segment_sum %z, %i axis = 0 segments = 50304 : (tensor<1000x8xf32>, tensor<1000xi32>) -> tensor<50304x8xf32>
  ark.return %0, %1 : tensor<50304x768xf32>, tensor<50304x8xf32>
}

// -----

// Lists have the plans of their sums, and sums of two microbatches have separate lists.
// CHECK-LABEL: ark.program @planned
// CHECK-COUNT-4: attributes {ark.plan = {microbatch = 0 : i64, stage = 0 : i64}}
// CHECK-COUNT-4: attributes {ark.plan = {microbatch = 1 : i64, stage = 0 : i64}}
ark.program @planned(
    %x: tensor<40x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<40xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<100x8xf32> {ark.name = "y0"}, tensor<100x8xf32> {ark.name = "y1"}) {
  %0 = ark.segment_sum %x, %i axis = 0 segments = 100 {ark.plan = {microbatch = 0 : i64, stage = 0 : i64}} : (tensor<40x8xf32>, tensor<40xi32>) -> tensor<100x8xf32>
  %1 = ark.segment_sum %x, %i axis = 0 segments = 100 {ark.plan = {microbatch = 1 : i64, stage = 0 : i64}} : (tensor<40x8xf32>, tensor<40xi32>) -> tensor<100x8xf32>
  ark.return %0, %1 : tensor<100x8xf32>, tensor<100x8xf32>
}

// -----

// Few slices: each vCTA looks for its own among all indices.
// CHECK-LABEL: ark.program @few
// CHECK-COUNT-1: ark.custom
// CHECK-NOT: ark.custom
ark.program @few(
    %x: tensor<32x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<32xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<100x64xf32> {ark.name = "y"}) {
  %0 = ark.segment_sum %x, %i axis = 0 segments = 100 : (tensor<32x64xf32>, tensor<32xi32>) -> tensor<100x64xf32>
  ark.return %0 : tensor<100x64xf32>
}

// -----

// Lists of this many slices would take longer: they compare all pairs of indices.
// CHECK-LABEL: ark.program @many
// CHECK-COUNT-1: ark.custom
// CHECK-NOT: ark.custom
ark.program @many(
    %x: tensor<65537x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<65537xi64> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<100x4xf32> {ark.name = "y"}) {
  %0 = ark.segment_sum %x, %i axis = 0 segments = 100 : (tensor<65537x4xf32>, tensor<65537xi64>) -> tensor<100x4xf32>
  ark.return %0 : tensor<100x4xf32>
}

// -----

// The least number of slices that are listed.
// CHECK-LABEL: ark.program @fewestListed
// CHECK-COUNT-4: ark.custom
// CHECK-NOT: ark.custom
ark.program @fewestListed(
    %x: tensor<33x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<33xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<100x64xf32> {ark.name = "y"}) {
  %0 = ark.segment_sum %x, %i axis = 0 segments = 100 : (tensor<33x64xf32>, tensor<33xi32>) -> tensor<100x64xf32>
  ark.return %0 : tensor<100x64xf32>
}

// -----

// The largest number of slices that are listed.
// CHECK-LABEL: ark.program @mostListed
// CHECK-COUNT-4: ark.custom
// CHECK-NOT: ark.custom
ark.program @mostListed(
    %x: tensor<65536x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<65536xi64> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<100x4xf32> {ark.name = "y"}) {
  %0 = ark.segment_sum %x, %i axis = 0 segments = 100 : (tensor<65536x4xf32>, tensor<65536xi64>) -> tensor<100x4xf32>
  ark.return %0 : tensor<100x4xf32>
}
