// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-split-products | FileCheck %s
// RUN: ark-opt %s --ark-split-products=parts=4 | FileCheck %s --check-prefix=FOUR
// A target without listed tiles has no costs of stages, and a program without a target has no costs.
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-split-products | FileCheck %s --check-prefix=NONE
// RUN: ark-opt %s --ark-split-products | FileCheck %s --check-prefix=NONE
// NONE-NOT: ark.reduce_sum

// The result has 16 tiles of 128 x 128. Eight parts have 128 tiles.
// CHECK-LABEL: ark.program @downProjection
// CHECK-SAME: (%[[X:.+]]: tensor<128x8192xbf16> {{.*}}, %[[W:.+]]: tensor<2048x8192xbf16> {{.*}}, %[[R:.+]]: tensor<128x2048xbf16> {{.*}})
ark.program @downProjection(
    %x: tensor<128x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %r: tensor<128x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "r"})
    -> (tensor<128x2048xbf16> {ark.name = "y"}) {
  // CHECK-NEXT: %[[XS:.+]] = ark.reshape %[[X]] shape = [128, 8, 1024]
  // CHECK-NEXT: %[[XT:.+]] = ark.transpose %[[XS]] perm = [1, 0, 2]
  // CHECK-NEXT: %[[WS:.+]] = ark.reshape %[[W]] shape = [2048, 8, 1024]
  // CHECK-NEXT: %[[WT:.+]] = ark.transpose %[[WS]] perm = [1, 0, 2]
  // CHECK-NEXT: %[[PARTS:.+]] = ark.matmul %[[XT]], %[[WT]] {transpose_other} :
  // CHECK-SAME: (tensor<8x128x1024xbf16>, tensor<8x2048x1024xbf16>) -> tensor<8x128x2048xf32>
  // CHECK-NEXT: %[[SUM:.+]] = ark.reduce_sum %[[PARTS]] axes = [0] keepdims = false
  // The result is rounded once, after the addition.
  // CHECK-NEXT: %[[WIDE:.+]] = ark.cast %[[R]] to f32
  // CHECK-NEXT: %[[Y:.+]] = ark.add %[[SUM]], %[[WIDE]]
  // CHECK-NEXT: ark.cast %[[Y]] to bf16
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<128x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<128x2048xbf16>
  %1 = ark.add %0, %r : (tensor<128x2048xbf16>, tensor<128x2048xbf16>) -> tensor<128x2048xbf16>
  ark.return %1 : tensor<128x2048xbf16>
}

// Two parts have 8 MiB, which stay in the L2. A product that is read without an addition is rounded itself.
// CHECK-LABEL: ark.program @moreRows
// CHECK: ark.matmul {{.*}} -> tensor<2x512x2048xf32>
// CHECK-NEXT: %[[SUM:.+]] = ark.reduce_sum
// CHECK-NEXT: ark.cast %[[SUM]] to bf16
ark.program @moreRows(
    %x: tensor<512x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<512x2048xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<512x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<512x2048xbf16>
  ark.return %0 : tensor<512x2048xbf16>
}

// The parts of a larger result do not stay in the L2: their sum would take more time than the split saves.
// CHECK-LABEL: ark.program @mostRows
// CHECK-NOT: ark.reduce_sum
ark.program @mostRows(
    %x: tensor<512x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<512x4096xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<512x8192xbf16>, tensor<4096x8192xbf16>) -> tensor<512x4096xbf16>
  ark.return %0 : tensor<512x4096xbf16>
}

// An addition that broadcasts the product, or whose product has another reader, stays as it is.
// CHECK-LABEL: ark.program @otherAdditions
// CHECK: %[[SUM:.+]] = ark.reduce_sum
// CHECK-NEXT: %[[Y:.+]] = ark.cast %[[SUM]] to bf16
// CHECK-NEXT: ark.add %[[Y]], %{{.+}} : (tensor<128x2048xbf16>, tensor<2x128x2048xbf16>)
// CHECK-NEXT: ark.mul %[[Y]], %[[Y]]
ark.program @otherAdditions(
    %x: tensor<128x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %r: tensor<2x128x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "r"})
    -> (tensor<2x128x2048xbf16> {ark.name = "y"}, tensor<128x2048xbf16> {ark.name = "z"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<128x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<128x2048xbf16>
  %1 = ark.add %0, %r : (tensor<128x2048xbf16>, tensor<2x128x2048xbf16>) -> tensor<2x128x2048xbf16>
  %2 = ark.mul %0, %0 : (tensor<128x2048xbf16>, tensor<128x2048xbf16>) -> tensor<128x2048xbf16>
  ark.return %1, %2 : tensor<2x128x2048xbf16>, tensor<128x2048xbf16>
}

// Products of one left operand run at the same time.
// CHECK-LABEL: ark.program @siblings
// CHECK-NOT: ark.reduce_sum
ark.program @siblings(
    %x: tensor<128x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<2048x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %w: tensor<2048x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<128x2048xbf16> {ark.name = "y0"}, tensor<128x2048xbf16> {ark.name = "y1"}) {
  %0 = ark.matmul %x, %v {transpose_other} : (tensor<128x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<128x2048xbf16>
  %1 = ark.matmul %x, %w {transpose_other} : (tensor<128x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<128x2048xbf16>
  ark.return %0, %1 : tensor<128x2048xbf16>, tensor<128x2048xbf16>
}

// A gradient of weights: both operands have rows across the depth. The f32 result needs no cast.
// CHECK-LABEL: ark.program @gradientOfWeights
// CHECK: ark.reshape %{{.+}} shape = [8, 1024, 512] : (tensor<8192x512xf16>)
// CHECK-NEXT: ark.transpose %{{.+}} perm = [0, 1, 2]
// CHECK: ark.matmul {{.*}} {transpose_input} : (tensor<8x1024x512xf16>, tensor<8x1024x512xf16>) -> tensor<8x512x512xf32>
// CHECK-NEXT: %[[SUM:.+]] = ark.reduce_sum
// CHECK-NEXT: ark.return %[[SUM]]
ark.program @gradientOfWeights(
    %x: tensor<8192x512xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %dy: tensor<8192x512xf16> {ark.kind = #ark.kind<input>, ark.name = "dy"})
    -> (tensor<512x512xf32> {ark.name = "dw"}) {
  %0 = ark.matmul %x, %dy {transpose_input} : (tensor<8192x512xf16>, tensor<8192x512xf16>) -> tensor<512x512xf32>
  ark.return %0 : tensor<512x512xf32>
}

// Leading dimensions stay; the matrix without them gets dimensions of extent one.
// CHECK-LABEL: ark.program @batch
// FOUR-LABEL: ark.program @batch
// FOUR: ark.reshape %{{.+}} shape = [3, 32, 4, 16] : (tensor<3x32x64xbf16>)
// FOUR-NEXT: ark.transpose %{{.+}} perm = [2, 0, 1, 3]
// FOUR-NEXT: ark.reshape %{{.+}} shape = [1, 4, 16, 8] : (tensor<64x8xbf16>)
// FOUR-NEXT: ark.transpose %{{.+}} perm = [1, 0, 2, 3]
// FOUR-NEXT: ark.matmul {{.*}} : (tensor<4x3x32x16xbf16>, tensor<4x1x16x8xbf16>) -> tensor<4x3x32x8xf32>
// FOUR-NEXT: ark.reduce_sum {{.*}} -> tensor<3x32x8xf32>
ark.program @batch(
    %x: tensor<3x32x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x8xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<3x32x8xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w : (tensor<3x32x64xbf16>, tensor<64x8xbf16>) -> tensor<3x32x8xbf16>
  ark.return %0 : tensor<3x32x8xbf16>
}

// Warpgroups multiply f32 as parts of bf16, in tiles of whole panels.
// CHECK-LABEL: ark.program @gradientInF32
// CHECK: ark.matmul {{.*}} {transpose_input} : (tensor<[[PARTS:[0-9]+]]x{{[0-9]+}}x128xf32>, tensor<[[PARTS]]x{{[0-9]+}}x64xf32>) -> tensor<[[PARTS]]x128x64xf32>
// CHECK-NEXT: ark.reduce_sum {{.*}} -> tensor<128x64xf32>
ark.program @gradientInF32(
    %x: tensor<4096x128xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %dy: tensor<4096x64xf32> {ark.kind = #ark.kind<input>, ark.name = "dy"})
    -> (tensor<128x64xf32> {ark.name = "dw"}) {
  %0 = ark.matmul %x, %dy {transpose_input} : (tensor<4096x128xf32>, tensor<4096x64xf32>) -> tensor<128x64xf32>
  ark.return %0 : tensor<128x64xf32>
}

// The pass does not split a product of few rows, which streams its weights; a product with enough tiles; a shallow
// product; a product whose rows across the depth no listed tile divides; a product of integers; and a product whose
// tile the user has set.
// CHECK-LABEL: ark.program @notSplit
// CHECK-NOT: ark.reduce_sum
// CHECK: ark.return
// FOUR-LABEL: ark.program @notSplit
// FOUR: ark.matmul {{.*}} (tensor<128x2048xi32>, tensor<64x2048xi32>)
// FOUR: ark.matmul {{.*}} (tensor<128x8192xbf16>, tensor<512x8192xbf16>) -> tensor<128x512xbf16>
// FOUR: ark.return
ark.program @notSplit(
    %few: tensor<8x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "few"},
    %x: tensor<128x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %odd: tensor<8192x102xbf16> {ark.kind = #ark.kind<input>, ark.name = "odd"},
    %shallow: tensor<128x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "shallow"},
    %single: tensor<128x2048xi32> {ark.kind = #ark.kind<input>, ark.name = "single"},
    %w: tensor<512x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %wide: tensor<32768x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wide"},
    %v: tensor<2048x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %u: tensor<64x2048xi32> {ark.kind = #ark.kind<parameter>, ark.name = "u"})
    -> (tensor<8x512xbf16> {ark.name = "y0"}, tensor<128x32768xbf16> {ark.name = "y1"},
        tensor<128x2048xbf16> {ark.name = "y2"}, tensor<102x512xbf16> {ark.name = "y3"},
        tensor<128x64xi32> {ark.name = "y4"}, tensor<128x512xbf16> {ark.name = "y5"}) {
  %0 = ark.matmul %few, %w {transpose_other} : (tensor<8x8192xbf16>, tensor<512x8192xbf16>) -> tensor<8x512xbf16>
  %1 = ark.matmul %x, %wide {transpose_other} : (tensor<128x8192xbf16>, tensor<32768x8192xbf16>) -> tensor<128x32768xbf16>
  %2 = ark.matmul %shallow, %v {transpose_other} : (tensor<128x1024xbf16>, tensor<2048x1024xbf16>) -> tensor<128x2048xbf16>
  %3 = ark.matmul %odd, %w {transpose_input, transpose_other} : (tensor<8192x102xbf16>, tensor<512x8192xbf16>) -> tensor<102x512xbf16>
  %4 = ark.matmul %single, %u {transpose_other} : (tensor<128x2048xi32>, tensor<64x2048xi32>) -> tensor<128x64xi32>
  %5 = ark.matmul %x, %w {transpose_other, ark.plan = {tile = [128, 64]}} : (tensor<128x8192xbf16>, tensor<512x8192xbf16>) -> tensor<128x512xbf16>
  ark.return %0, %1, %2, %3, %4, %5 : tensor<8x512xbf16>, tensor<128x32768xbf16>, tensor<128x2048xbf16>, tensor<102x512xbf16>, tensor<128x64xi32>, tensor<128x512xbf16>
}

// The gather reads the matrix of each product.
// CHECK-LABEL: ark.program @gatheredMatrices
// FOUR-LABEL: ark.program @gatheredMatrices
// FOUR-NOT: ark.reduce_sum
ark.program @gatheredMatrices(
    %x: tensor<2x32x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<2xi32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %w: tensor<4x64x32xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2x32x32xbf16> {ark.name = "y"}) {
  %0 = ark.gather %w, %i axis = 0 : (tensor<4x64x32xbf16>, tensor<2xi32>) -> tensor<2x64x32xbf16>
  %1 = ark.matmul %x, %0 : (tensor<2x32x64xbf16>, tensor<2x64x32xbf16>) -> tensor<2x32x32xbf16>
  ark.return %1 : tensor<2x32x32xbf16>
}
