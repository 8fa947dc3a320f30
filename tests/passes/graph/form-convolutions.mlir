// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-form-convolutions --canonicalize | FileCheck %s
// Other targets have no matrix units that read panels of shared memory, and a program without a target has no costs.
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-form-convolutions | FileCheck %s --check-prefix=NONE
// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-form-convolutions | FileCheck %s --check-prefix=NONE
// RUN: ark-opt %s --ark-assign-target=target=cpu --ark-form-convolutions | FileCheck %s --check-prefix=NONE
// RUN: ark-opt %s --ark-form-convolutions | FileCheck %s --check-prefix=NONE
// NONE-NOT: ark.convolution

// Three rows of windows for each row of the image: a third of the bytes of whole windows.
// CHECK-LABEL: ark.program @threeByThree
// CHECK-SAME: (%[[X:.+]]: tensor<8x64x58x58xf16> {{.*}}, %[[F:.+]]: tensor<64x64x3x3xf16> {{.*}})
// CHECK-NEXT: %[[WINDOWS:.+]] = ark.windows %[[X]] sizes = [3] strides = [1] dilations = [1]
// CHECK-SAME: -> tensor<8x64x58x3x56xf16>
// CHECK-NEXT: %[[ROWS:.+]] = ark.reshape %[[WINDOWS]] shape = [8, 64, 174, 56]
// CHECK-NEXT: %[[Y:.+]] = ark.convolution %[[F]], %[[ROWS]] stride = 3 dilation = 3
// CHECK-SAME: -> tensor<8x64x56x56xf16>
// CHECK-NEXT: %[[RESULT:.+]] = ark.reshape %[[Y]] shape = [8, 64, 3136]
// CHECK-NEXT: ark.return %[[RESULT]]
ark.program @threeByThree(
    %x: tensor<8x64x58x58xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<64x64x3x3xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x64x3136xf16> {ark.name = "y"}) {
  %0 = ark.windows %x sizes = [3, 3] strides = [1, 1] dilations = [1, 1]
      : (tensor<8x64x58x58xf16>) -> tensor<8x64x3x3x56x56xf16>
  %1 = ark.reshape %0 shape = [8, 576, 3136] : (tensor<8x64x3x3x56x56xf16>) -> tensor<8x576x3136xf16>
  %2 = ark.reshape %f shape = [64, 576] : (tensor<64x64x3x3xf16>) -> tensor<64x576xf16>
  %3 = ark.matmul %2, %1 : (tensor<64x576xf16>, tensor<8x576x3136xf16>) -> tensor<8x64x3136xf16>
  ark.return %3 : tensor<8x64x3136xf16>
}

// Rows of 14 windows become rows of 16. The zeros that pad the image become more, and there is no other copy.
// CHECK-LABEL: ark.program @padded
// CHECK-DAG: %[[LEFT:.+]] = ark.constant dense<0.000000e+00> : tensor<8x256x16x1xbf16>
// CHECK-DAG: %[[RIGHT:.+]] = ark.constant dense<0.000000e+00> : tensor<8x256x16x3xbf16>
// CHECK: %[[IMAGE:.+]] = ark.concat %[[LEFT]], %{{.+}}, %[[RIGHT]] axis = 3
// CHECK-SAME: -> tensor<8x256x16x18xbf16>
// CHECK-NOT: ark.concat
// CHECK: ark.windows %{{.+}} sizes = [3] strides = [1] dilations = [1]
// CHECK-SAME: -> tensor<8x1x256x16x3x16xbf16>
// CHECK: ark.slice %{{.+}} starts = [0, 0, 0, 0] stops = [8, 256, 48, 14]
// CHECK: ark.convolution %{{.+}}, %{{.+}} stride = 3 dilation = 3
// CHECK-SAME: (tensor<256x256x3x3xbf16>, tensor<8x256x48x14xbf16>) -> tensor<8x256x14x14xbf16>
ark.program @padded(
    %x: tensor<8x256x16x14xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<256x2304xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x256x196xbf16> {ark.name = "y"}) {
  %zeros = ark.constant dense<0.0> : tensor<8x256x16x1xbf16>
  %0 = ark.concat %zeros, %x, %zeros axis = 3
      : (tensor<8x256x16x1xbf16>, tensor<8x256x16x14xbf16>, tensor<8x256x16x1xbf16>) -> tensor<8x256x16x16xbf16>
  %1 = ark.reshape %0 shape = [8, 1, 256, 16, 16] : (tensor<8x256x16x16xbf16>) -> tensor<8x1x256x16x16xbf16>
  %2 = ark.windows %1 sizes = [3, 3] strides = [1, 1] dilations = [1, 1]
      : (tensor<8x1x256x16x16xbf16>) -> tensor<8x1x256x3x3x14x14xbf16>
  %3 = ark.reshape %2 shape = [8, 2304, 196] : (tensor<8x1x256x3x3x14x14xbf16>) -> tensor<8x2304x196xbf16>
  %4 = ark.matmul %f, %3 : (tensor<256x2304xbf16>, tensor<8x2304x196xbf16>) -> tensor<8x256x196xbf16>
  ark.return %4 : tensor<8x256x196xbf16>
}

// Strides and dilations down, in rows of windows: three of them for each row of the image.
// CHECK-LABEL: ark.program @groupsWithStridesAndDilations
// CHECK: ark.windows %{{.+}} sizes = [3] strides = [2] dilations = [1]
// CHECK: ark.convolution %{{.+}}, %{{.+}} stride = 6 dilation = 6
// CHECK-SAME: (tensor<2x64x64x3x3xf16>, tensor<8x2x64x177x28xf16>) -> tensor<8x2x64x28x28xf16>
ark.program @groupsWithStridesAndDilations(
    %x: tensor<8x2x64x59x58xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<2x64x576xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x2x64x784xf16> {ark.name = "y"}) {
  %0 = ark.windows %x sizes = [3, 3] strides = [2, 2] dilations = [2, 1]
      : (tensor<8x2x64x59x58xf16>) -> tensor<8x2x64x3x3x28x28xf16>
  %1 = ark.reshape %0 shape = [8, 2, 576, 784] : (tensor<8x2x64x3x3x28x28xf16>) -> tensor<8x2x576x784xf16>
  %2 = ark.matmul %f, %1 : (tensor<2x64x576xf16>, tensor<8x2x576x784xf16>) -> tensor<8x2x64x784xf16>
  ark.return %2 : tensor<8x2x64x784xf16>
}

// Windows of one row: windows over columns have as many bytes.
// CHECK-LABEL: ark.program @oneRow
// CHECK-NOT: ark.convolution
ark.program @oneRow(
    %x: tensor<8x64x56x58xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<64x192xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x64x3136xf16> {ark.name = "y"}) {
  %0 = ark.windows %x sizes = [1, 3] strides = [1, 1] dilations = [1, 1]
      : (tensor<8x64x56x58xf16>) -> tensor<8x64x1x3x56x56xf16>
  %1 = ark.reshape %0 shape = [8, 192, 3136] : (tensor<8x64x1x3x56x56xf16>) -> tensor<8x192x3136xf16>
  %2 = ark.matmul %f, %1 : (tensor<64x192xf16>, tensor<8x192x3136xf16>) -> tensor<8x64x3136xf16>
  ark.return %2 : tensor<8x64x3136xf16>
}

// The windows have another reader, for which they are copied anyway.
// CHECK-LABEL: ark.program @anotherReader
// CHECK-NOT: ark.convolution
ark.program @anotherReader(
    %x: tensor<8x64x58x58xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<64x576xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x64x3136xf16> {ark.name = "y"}, tensor<8x576x3136xf16> {ark.name = "z"}) {
  %0 = ark.windows %x sizes = [3, 3] strides = [1, 1] dilations = [1, 1]
      : (tensor<8x64x58x58xf16>) -> tensor<8x64x3x3x56x56xf16>
  %1 = ark.reshape %0 shape = [8, 576, 3136] : (tensor<8x64x3x3x56x56xf16>) -> tensor<8x576x3136xf16>
  %2 = ark.matmul %f, %1 : (tensor<64x576xf16>, tensor<8x576x3136xf16>) -> tensor<8x64x3136xf16>
  ark.return %2, %1 : tensor<8x64x3136xf16>, tensor<8x576x3136xf16>
}

// A depth of 27 is no multiple of a stage, and elements of f32 are split into terms.
// CHECK-LABEL: ark.program @depthOf27
// CHECK-NOT: ark.convolution
ark.program @depthOf27(
    %x: tensor<8x3x58x58xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<64x27xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x64x3136xf16> {ark.name = "y"}) {
  %0 = ark.windows %x sizes = [3, 3] strides = [1, 1] dilations = [1, 1]
      : (tensor<8x3x58x58xf16>) -> tensor<8x3x3x3x56x56xf16>
  %1 = ark.reshape %0 shape = [8, 27, 3136] : (tensor<8x3x3x3x56x56xf16>) -> tensor<8x27x3136xf16>
  %2 = ark.matmul %f, %1 : (tensor<64x27xf16>, tensor<8x27x3136xf16>) -> tensor<8x64x3136xf16>
  ark.return %2 : tensor<8x64x3136xf16>
}

// CHECK-LABEL: ark.program @wideElements
// CHECK-NOT: ark.convolution
ark.program @wideElements(
    %x: tensor<8x64x58x58xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<64x576xf32> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x64x3136xf32> {ark.name = "y"}) {
  %0 = ark.windows %x sizes = [3, 3] strides = [1, 1] dilations = [1, 1]
      : (tensor<8x64x58x58xf32>) -> tensor<8x64x3x3x56x56xf32>
  %1 = ark.reshape %0 shape = [8, 576, 3136] : (tensor<8x64x3x3x56x56xf32>) -> tensor<8x576x3136xf32>
  %2 = ark.matmul %f, %1 : (tensor<64x576xf32>, tensor<8x576x3136xf32>) -> tensor<8x64x3136xf32>
  ark.return %2 : tensor<8x64x3136xf32>
}

// New ops have the plans of those that they replace.
// CHECK-LABEL: ark.program @planned
// CHECK: ark.concat {{.*}} {ark.plan = {warps = 8 : i64}} {{.*}} -> tensor<8x64x58x58xf16>
// CHECK: ark.windows {{.*}} {ark.plan = {warps = 8 : i64}}
// CHECK: ark.convolution {{.*}} {ark.plan = {warps = 4 : i64}}
ark.program @planned(
    %x: tensor<8x64x58x56xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<64x576xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x64x3024xf16> {ark.name = "y"}) {
  %0 = ark.windows %x sizes = [3, 3] strides = [1, 1] dilations = [1, 1] {ark.plan = {warps = 8 : i64}}
      : (tensor<8x64x58x56xf16>) -> tensor<8x64x3x3x56x54xf16>
  %1 = ark.reshape %0 shape = [8, 576, 3024] : (tensor<8x64x3x3x56x54xf16>) -> tensor<8x576x3024xf16>
  %2 = ark.matmul %f, %1 {ark.plan = {warps = 4 : i64}} : (tensor<64x576xf16>, tensor<8x576x3024xf16>) -> tensor<8x64x3024xf16>
  ark.return %2 : tensor<8x64x3024xf16>
}

// A tile in a plan has the shape of the product.
// CHECK-LABEL: ark.program @plannedTile
// CHECK-NOT: ark.convolution
ark.program @plannedTile(
    %x: tensor<8x64x58x58xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %f: tensor<64x576xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"})
    -> (tensor<8x64x3136xf16> {ark.name = "y"}) {
  %0 = ark.windows %x sizes = [3, 3] strides = [1, 1] dilations = [1, 1]
      : (tensor<8x64x58x58xf16>) -> tensor<8x64x3x3x56x56xf16>
  %1 = ark.reshape %0 shape = [8, 576, 3136] : (tensor<8x64x3x3x56x56xf16>) -> tensor<8x576x3136xf16>
  %2 = ark.matmul %f, %1 {ark.plan = {tile = [1, 64, 128]}} : (tensor<64x576xf16>, tensor<8x576x3136xf16>) -> tensor<8x64x3136xf16>
  ark.return %2 : tensor<8x64x3136xf16>
}
