// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-pad-products | FileCheck %s
// Other targets have no matrix units that read rows across K from shared memory, and a program without a target has no
// costs.
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-pad-products | FileCheck %s --check-prefix=NONE
// RUN: ark-opt %s --ark-assign-target=target=cpu --ark-pad-products | FileCheck %s --check-prefix=NONE
// RUN: ark-opt %s --ark-pad-products | FileCheck %s --check-prefix=NONE
// NONE-NOT: ark.concat

// Rows of 196 positions become rows of 200. The product reads 196 of them.
// CHECK-LABEL: ark.program @positions
// CHECK-SAME: (%[[W:.+]]: tensor<256x1024xbf16> {{.*}}, %[[X:.+]]: tensor<8x1024x196xbf16> {{.*}})
// CHECK-NEXT: %[[ZEROS:.+]] = ark.constant dense<0.000000e+00> : tensor<8x1024x4xbf16>
// CHECK-NEXT: %[[LONG:.+]] = ark.concat %[[X]], %[[ZEROS]] axis = 2
// CHECK-NEXT: %[[ROWS:.+]] = ark.slice %[[LONG]] starts = [0, 0, 0] stops = [8, 1024, 196] steps = [1, 1, 1]
// CHECK-NEXT: ark.matmul %[[W]], %[[ROWS]] : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16>
ark.program @positions(
    %w: tensor<256x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %x: tensor<8x1024x196xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x256x196xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %w, %x : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16>
  ark.return %0 : tensor<8x256x196xbf16>
}

// A depth of 147 becomes a depth of 192, which are three stages. The zeros of both operands have no effect on the result.
// CHECK-LABEL: ark.program @depth
// CHECK-SAME: (%[[W:.+]]: tensor<64x147xf16> {{.*}}, %[[X:.+]]: tensor<8x147x12544xf16> {{.*}})
// CHECK-NEXT: %[[ZEROS:.+]] = ark.constant dense<0.000000e+00> : tensor<64x45xf16>
// CHECK-NEXT: %[[LEFT:.+]] = ark.concat %[[W]], %[[ZEROS]] axis = 1
// CHECK-NEXT: %[[ROWS:.+]] = ark.constant dense<0.000000e+00> : tensor<8x45x12544xf16>
// CHECK-NEXT: %[[RIGHT:.+]] = ark.concat %[[X]], %[[ROWS]] axis = 1
// CHECK-NEXT: ark.matmul %[[LEFT]], %[[RIGHT]] : (tensor<64x192xf16>, tensor<8x192x12544xf16>) -> tensor<8x64x12544xf16>
ark.program @depth(
    %w: tensor<64x147xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %x: tensor<8x147x12544xf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64x12544xf16> {ark.name = "y"}) {
  %0 = ark.matmul %w, %x : (tensor<64x147xf16>, tensor<8x147x12544xf16>) -> tensor<8x64x12544xf16>
  ark.return %0 : tensor<8x64x12544xf16>
}

// Both the depth and the rows of the right operand are padded.
// CHECK-LABEL: ark.program @depthAndRows
// CHECK: %[[DEEP:.+]] = ark.concat %{{.+}} axis = 0 : (tensor<1001x1603xbf16>, tensor<23x1603xbf16>) -> tensor<1024x1603xbf16>
// CHECK: %[[LONG:.+]] = ark.concat %[[DEEP]], %{{.+}} axis = 1 : (tensor<1024x1603xbf16>, tensor<1024x5xbf16>) -> tensor<1024x1608xbf16>
// CHECK: %[[RIGHT:.+]] = ark.slice %[[LONG]] starts = [0, 0] stops = [1024, 1603] steps = [1, 1]
// CHECK: ark.matmul %{{.+}}, %[[RIGHT]] : (tensor<2048x1024xbf16>, tensor<1024x1603xbf16>) -> tensor<2048x1603xbf16>
ark.program @depthAndRows(
    %x: tensor<2048x1001xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<1001x1603xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2048x1603xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w : (tensor<2048x1001xbf16>, tensor<1001x1603xbf16>) -> tensor<2048x1603xbf16>
  ark.return %0 : tensor<2048x1603xbf16>
}

// Warps multiply a depth that is a multiple of 16 bytes, if the rows of both operands lie along the depth. For other depths,
// both operands are padded.
// CHECK-LABEL: ark.program @alongDepth
// CHECK-SAME: %[[X:.+]]: tensor<2048x1000xbf16> {{.*}}, %[[W:.+]]: tensor<1024x1000xbf16> {{.*}}, %[[Z:.+]]: tensor<2048x1001xbf16> {{.*}}, %[[V:.+]]: tensor<1024x1001xbf16>
// CHECK-NEXT: ark.matmul %[[X]], %[[W]] {transpose_other}
// CHECK: ark.matmul %{{.+}}, %{{.+}} {transpose_other} : (tensor<2048x1024xbf16>, tensor<1024x1024xbf16>)
ark.program @alongDepth(
    %x: tensor<2048x1000xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<1024x1000xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %z: tensor<2048x1001xbf16> {ark.kind = #ark.kind<input>, ark.name = "z"},
    %v: tensor<1024x1001xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<2048x1024xbf16> {ark.name = "y"}, tensor<2048x1024xbf16> {ark.name = "u"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<2048x1000xbf16>, tensor<1024x1000xbf16>) -> tensor<2048x1024xbf16>
  %1 = ark.matmul %z, %v {transpose_other} : (tensor<2048x1001xbf16>, tensor<1024x1001xbf16>) -> tensor<2048x1024xbf16>
  ark.return %0, %1 : tensor<2048x1024xbf16>, tensor<2048x1024xbf16>
}

// Matrix units read rows of 784 elements, which are clipped, and rows along K of any number.
// CHECK-LABEL: ark.program @readable
// CHECK-NOT: ark.concat
ark.program @readable(
    %w: tensor<256x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %x: tensor<8x1024x784xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<1568x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<8x256x784xbf16> {ark.name = "y"}, tensor<256x1568xbf16> {ark.name = "u"}) {
  %0 = ark.matmul %w, %x : (tensor<256x1024xbf16>, tensor<8x1024x784xbf16>) -> tensor<8x256x784xbf16>
  %1 = ark.matmul %w, %z {transpose_other} : (tensor<256x1024xbf16>, tensor<1568x1024xbf16>) -> tensor<256x1568xbf16>
  ark.return %0, %1 : tensor<8x256x784xbf16>, tensor<256x1568xbf16>
}

// The copies of small operands take longer than the product by threads, and few rows are streamed.
// CHECK-LABEL: ark.program @small
// CHECK-NOT: ark.concat
ark.program @small(
    %w: tensor<64x64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %x: tensor<64x49xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<8x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "z"},
    %v: tensor<4096x4099xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<64x49xbf16> {ark.name = "y"}, tensor<8x4099xbf16> {ark.name = "u"}) {
  %0 = ark.matmul %w, %x : (tensor<64x64xbf16>, tensor<64x49xbf16>) -> tensor<64x49xbf16>
  %1 = ark.matmul %z, %v : (tensor<8x4096xbf16>, tensor<4096x4099xbf16>) -> tensor<8x4099xbf16>
  ark.return %0, %1 : tensor<64x49xbf16>, tensor<8x4099xbf16>
}
