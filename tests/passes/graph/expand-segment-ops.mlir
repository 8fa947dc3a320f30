// RUN: ark-opt %s --ark-expand-segment-ops --split-input-file | FileCheck %s

// Each of two SMs has two vCTAs, which own a quarter of the segments.
module attributes {ark.target = #ark.target<backend = cpu, arch = "native", sms = 2, warps = 1, shared_memory = 1048576, bandwidth = 10, flops = 10, handoff = 100, barrier = 100, overhead = 100>} {
// CHECK-LABEL: ark.program @rowsOfATable
// CHECK-SAME: (%[[X:.+]]: tensor<8x64xbf16> {{.*}}, %[[I:.+]]: tensor<8xi32> {{.*}})
ark.program @rowsOfATable(
    %x: tensor<8x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<1024x64xf32> {ark.name = "y"}) {
  // CHECK-NEXT: %[[SLICES:.+]] = ark.reshape %[[X]] shape = [1, 8, 64]
  // CHECK-NEXT: %[[SUMS:.+]] = ark.custom grid [1, 4, 1]
  // CHECK-SAME: ins(%[[SLICES]][#ark.region<(d0, d1, d2) -> (d0, 0, d2 * 64), [1, 8, 64]>] : tensor<1x8x64xbf16>, %[[I]][#ark.region<(d0, d1, d2) -> (0), [8]>] : tensor<8xi32>)
  // CHECK-SAME: out <(d0, d1, d2) -> (d0, d1 * 256, d2 * 64), [1, 256, 64]>
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %[[BLOCK:.+]]: index, %{{.+}}: index, %[[A:.+]]: tensor<1x8x64xbf16>, %[[NAMES:.+]]: tensor<8xi32>, %[[OUT:.+]]: tensor<1x256x64xf32>):
  // CHECK: %[[FIRST:.+]] = arith.muli %[[BLOCK]], %{{.+}} : index
  // CHECK: %[[ZEROS:.+]] = linalg.fill {{.*}} outs(%[[OUT]]
  // CHECK: %[[TOTAL:.+]] = scf.for %[[SLICE:.+]] = {{.*}} iter_args(%[[PARTIAL:.+]] = %[[ZEROS]])
  // CHECK: %[[NAME:.+]] = tensor.extract %[[NAMES]][%[[SLICE]]]
  // CHECK: %[[SEGMENT:.+]] = arith.subi %{{.+}}, %[[FIRST]]
  // CHECK: scf.if
  // CHECK: %[[TERM:.+]] = tensor.extract_slice %[[A]][0, %[[SLICE]], 0] [1, 1, 64] [1, 1, 1]
  // CHECK: %[[SUM:.+]] = tensor.extract_slice %[[PARTIAL]][0, %[[SEGMENT]], 0] [1, 1, 64] [1, 1, 1]
  // CHECK: linalg.generic {{.*}} ins(%[[TERM]] : {{.*}}) outs(%[[SUM]]
  // CHECK: arith.extf
  // CHECK: arith.addf
  // CHECK: tensor.insert_slice
  // CHECK: } else {
  // CHECK-NEXT: scf.yield %[[PARTIAL]]
  // CHECK: ark.yield %[[TOTAL]]
  // CHECK: %[[Y:.+]] = ark.reshape %[[SUMS]] shape = [1024, 64]
  // CHECK-NEXT: ark.return %[[Y]]
  %0 = ark.segment_sum %x, %i axis = 0 segments = 1024 : (tensor<8x64xbf16>, tensor<8xi32>) -> tensor<1024x64xf32>
  ark.return %0 : tensor<1024x64xf32>
}

// Many batches occupy the SMs, so that a vCTA owns all segments of some of them. The last vCTA is clipped.
// CHECK-LABEL: ark.program @lastDimension
ark.program @lastDimension(
    %x: tensor<33x8xi32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<8xi64> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<33x5xi32> {ark.name = "y"}) {
  // CHECK: ark.custom grid [4, 1, 1]
  // CHECK-SAME: <(d0, d1, d2) -> (d0 * 9, 0, d2), [9, 8, 1]>
  // CHECK-SAME: out <(d0, d1, d2) -> (d0 * 9, d1 * 5, d2), [9, 5, 1]>
  // CHECK-NEXT: ^bb0({{.*}}: tensor<?x8x1xi32>, {{.*}}: tensor<?x5x1xi32>):
  // CHECK: arith.addi
  %0 = ark.segment_sum %x, %i axis = 1 segments = 5 : (tensor<33x8xi32>, tensor<8xi64>) -> tensor<33x5xi32>
  ark.return %0 : tensor<33x5xi32>
}

// One segment: blocks of columns occupy each SM once.
// CHECK-LABEL: ark.program @oneSegment
ark.program @oneSegment(
    %x: tensor<8x256xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<1x256xf32> {ark.name = "y"}) {
  // CHECK: ark.custom grid [1, 1, 2]
  // CHECK-SAME: out <(d0, d1, d2) -> (d0, d1, d2 * 128), [1, 1, 128]>
  %0 = ark.segment_sum %x, %i axis = 0 segments = 1 : (tensor<8x256xf32>, tensor<8xi32>) -> tensor<1x256xf32>
  ark.return %0 : tensor<1x256xf32>
}

// A maximum begins with the least value. The op's bits are those of an integer without a sign.
// CHECK-LABEL: ark.program @maxima
ark.program @maxima(
    %x: tensor<8xui32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<8xf16> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "z"},
    %i: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<5xui32> {ark.name = "a"}, tensor<5xf16> {ark.name = "b"}, tensor<5xi32> {ark.name = "c"}) {
  // CHECK: ark.custom
  // CHECK: arith.constant 0 : i32
  // CHECK: arith.maxui
  // CHECK: ark.bitcast {{.*}} -> tensor<5xui32>
  // CHECK: ark.custom
  // CHECK: arith.constant 0xFC00 : f16
  // CHECK: arith.maximumf {{.*}} : f16
  // CHECK: ark.custom
  // CHECK: arith.constant -2147483648 : i32
  // CHECK: arith.maxsi
  %0 = ark.segment_max %x, %i axis = 0 segments = 5 : (tensor<8xui32>, tensor<8xi32>) -> tensor<5xui32>
  %1 = ark.segment_max %y, %i axis = 0 segments = 5 : (tensor<8xf16>, tensor<8xi32>) -> tensor<5xf16>
  %2 = ark.segment_max %z, %i axis = 0 segments = 5 : (tensor<8xi32>, tensor<8xi32>) -> tensor<5xi32>
  ark.return %0, %1, %2 : tensor<5xui32>, tensor<5xf16>, tensor<5xi32>
}

// The pass does not expand a sum without elements.
// CHECK-LABEL: ark.program @empty
// CHECK-COUNT-2: ark.segment_sum
ark.program @empty(
    %x: tensor<8x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %i: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %none: tensor<0x4xf32> {ark.kind = #ark.kind<input>, ark.name = "none"},
    %j: tensor<0xi32> {ark.kind = #ark.kind<input>, ark.name = "j"})
    -> (tensor<0x4xf32> {ark.name = "y0"}, tensor<3x4xf32> {ark.name = "y1"}) {
  %0 = ark.segment_sum %x, %i axis = 0 segments = 0 : (tensor<8x4xf32>, tensor<8xi32>) -> tensor<0x4xf32>
  %1 = ark.segment_sum %none, %j axis = 0 segments = 3 : (tensor<0x4xf32>, tensor<0xi32>) -> tensor<3x4xf32>
  ark.return %0, %1 : tensor<0x4xf32>, tensor<3x4xf32>
}
}
