// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_80 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM90

// Preferred tiles of matrix units: of the known targets, only sm_90a has such a list.


// CHECK-LABEL: ark.program @largeTilesReadLess
ark.program @largeTilesReadLess(
    %x: tensor<4096x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 256, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %1 : tensor<4096x4096xbf16>
  }
  ark.return %0 : tensor<4096x4096xbf16>
}

// Matrix units of sm_90a also read operands whose rows lie across the depth.
// CHECK-LABEL: ark.program @transposedOperands
ark.program @transposedOperands(
    %x: tensor<4096x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 256, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_input} : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %1 : tensor<4096x4096xbf16>
  }
  ark.return %0 : tensor<4096x4096xbf16>
}

// A warp reads only operands that lie along the depth. Other products have tiles of whole panels, although 36 tiles leave
// 96 SMs idle and a reader has smaller tiles.
// CHECK-LABEL: ark.program @fewTilesAcrossTheDepth
ark.program @fewTilesAcrossTheDepth(
    %x: tensor<2048x384xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x384xbf16> {ark.kind = #ark.kind<input>, ark.name = "w"})
    -> (tensor<384x384xf32> {ark.name = "y"}) {
  // SM80-NOT: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 64, 64>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<2048x384xbf16>, tensor<2048x384xbf16>) -> tensor<384x384xbf16> {
    %2 = ark.matmul %a, %b {transpose_input} : (tensor<2048x384xbf16>, tensor<2048x384xbf16>) -> tensor<384x384xbf16>
    ark.yield %2 : tensor<384x384xbf16>
  }
  // CHECK: ark.group "h"
  %1 = ark.group "h" (%a = %0) : (tensor<384x384xbf16>) -> tensor<384x384xf32> {
    %2 = ark.cast %a to f32 : (tensor<384x384xbf16>) -> tensor<384x384xf32>
    ark.yield %2 : tensor<384x384xf32>
  }
  ark.return %1 : tensor<384x384xf32>
}

// The same product along the depth has smaller tiles.
// CHECK-LABEL: ark.program @fewTilesAlongTheDepth
ark.program @fewTilesAlongTheDepth(
    %x: tensor<384x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<384x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "w"})
    -> (tensor<384x384xbf16> {ark.name = "y"}) {
  // CHECK-NOT: tile = array<i64: 128, 128>
  // CHECK: tile = array<i64:
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<384x2048xbf16>, tensor<384x2048xbf16>) -> tensor<384x384xbf16> {
    %2 = ark.matmul %a, %b {transpose_other} : (tensor<384x2048xbf16>, tensor<384x2048xbf16>) -> tensor<384x384xbf16>
    ark.yield %2 : tensor<384x384xbf16>
  }
  ark.return %0 : tensor<384x384xbf16>
}

// With 96 columns, a warpgroup would have 48, which are no whole panel of 64.
// CHECK-LABEL: ark.program @wholePanels
ark.program @wholePanels(
    %x: tensor<4096x384xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<384x384xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x384xf16> {ark.name = "y"}) {
  // SM90-NOT: tile = array<i64: 128, 96>
  // CHECK: tile = array<i64:
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x384xf16>, tensor<384x384xf16>) -> tensor<4096x384xf16> {
    %1 = ark.matmul %a, %b : (tensor<4096x384xf16>, tensor<384x384xf16>) -> tensor<4096x384xf16>
    ark.yield %1 : tensor<4096x384xf16>
  }
  ark.return %0 : tensor<4096x384xf16>
}

// There are 33 tiles of 128 rows.
// CHECK-LABEL: ark.program @rowsDecideWhichSideIsLong
ark.program @rowsDecideWhichSideIsLong(
    %x: tensor<4224x512xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4224x4096xf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 256>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4224x512xf16>, tensor<4096x512xf16>) -> tensor<4224x4096xf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4224x512xf16>, tensor<4096x512xf16>) -> tensor<4224x4096xf16>
    ark.yield %1 : tensor<4224x4096xf16>
  }
  ark.return %0 : tensor<4224x4096xf16>
}

// 144 tiles take two waves on 132 SMs.
// CHECK-LABEL: ark.program @unevenSharesCostLessThanSmallTiles
ark.program @unevenSharesCostLessThanSmallTiles(
    %x: tensor<2304x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<2048x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<2304x2048xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 256, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<2304x512xbf16>, tensor<2048x512xbf16>) -> tensor<2304x2048xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<2304x512xbf16>, tensor<2048x512xbf16>) -> tensor<2304x2048xbf16>
    ark.yield %1 : tensor<2304x2048xbf16>
  }
  ark.return %0 : tensor<2304x2048xbf16>
}


// Two waves of 128 by 192 take less time than three of 128 by 128, and 128 tiles of 96 columns take one wave.
// CHECK-LABEL: ark.program @fewerWavesOfLargerTiles
ark.program @fewerWavesOfLargerTiles(
    %x: tensor<4096x384xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %u: tensor<4096x384xf16> {ark.kind = #ark.kind<input>, ark.name = "u"},
    %w: tensor<1536x384xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %v: tensor<384x384xf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<4096x1536xf16> {ark.name = "y"}, tensor<4096x384xf16> {ark.name = "z"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 192>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x384xf16>, tensor<1536x384xf16>) -> tensor<4096x1536xf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x384xf16>, tensor<1536x384xf16>) -> tensor<4096x1536xf16>
    ark.yield %1 : tensor<4096x1536xf16>
  }
  // SM80: tile = array<i64: 64, 128>
  // SM90: tile = array<i64: 128, 96>
  %2 = ark.group "h" (%a = %u, %b = %v)
      : (tensor<4096x384xf16>, tensor<384x384xf16>) -> tensor<4096x384xf16> {
    %3 = ark.matmul %a, %b {transpose_other} : (tensor<4096x384xf16>, tensor<384x384xf16>) -> tensor<4096x384xf16>
    ark.yield %3 : tensor<4096x384xf16>
  }
  ark.return %0, %2 : tensor<4096x1536xf16>, tensor<4096x384xf16>
}

// 112 tiles of 128 x 128 in one wave take less time than 224 smaller tiles in two.
// CHECK-LABEL: ark.program @idleSMs
ark.program @idleSMs(
    %x: tensor<128x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<14336x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<128x14336xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 112>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<128x2048xbf16>, tensor<14336x2048xbf16>) -> tensor<128x14336xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<128x2048xbf16>, tensor<14336x2048xbf16>) -> tensor<128x14336xbf16>
    ark.yield %1 : tensor<128x14336xbf16>
  }
  ark.return %0 : tensor<128x14336xbf16>
}

// CHECK-LABEL: ark.program @fewRows
ark.program @fewRows(
    %x: tensor<128x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8192x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<128x8192xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 64, 128>
  // SM90: tile = array<i64: 128, 64>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<128x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<128x8192xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<128x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<128x8192xbf16>
    ark.yield %1 : tensor<128x8192xbf16>
  }
  ark.return %0 : tensor<128x8192xbf16>
}


// No listed tile divides 4048 columns.
// CHECK-LABEL: ark.program @raggedColumnsHaveNoPreference
ark.program @raggedColumnsHaveNoPreference(
    %x: tensor<4096x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4048x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4048xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x512xbf16>, tensor<4048x512xbf16>) -> tensor<4096x4048xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x512xbf16>, tensor<4048x512xbf16>) -> tensor<4096x4048xbf16>
    ark.yield %1 : tensor<4096x4048xbf16>
  }
  ark.return %0 : tensor<4096x4048xbf16>
}


// CHECK-LABEL: ark.program @shallowStagesHaveNoPreference
ark.program @shallowStagesHaveNoPreference(
    %x: tensor<4096x544xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x544xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x544xbf16>, tensor<4096x544xbf16>) -> tensor<4096x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x544xbf16>, tensor<4096x544xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %1 : tensor<4096x4096xbf16>
  }
  ark.return %0 : tensor<4096x4096xbf16>
}


// CHECK-LABEL: ark.program @computedRowsHaveNoPreference
ark.program @computedRowsHaveNoPreference(
    %x: tensor<4096x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x512xbf16>, tensor<4096x512xbf16>) -> tensor<4096x4096xbf16> {
    %2 = ark.gelu %a approximate = none : (tensor<4096x512xbf16>) -> tensor<4096x512xbf16>
    %1 = ark.matmul %2, %b {transpose_other} : (tensor<4096x512xbf16>, tensor<4096x512xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %1 : tensor<4096x4096xbf16>
  }
  ark.return %0 : tensor<4096x4096xbf16>
}


// CHECK-LABEL: ark.program @rowsOfTheWeightAcrossTheDepth
ark.program @rowsOfTheWeightAcrossTheDepth(
    %x: tensor<4096x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<512x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xbf16> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 256, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x4096xbf16> {
    %1 = ark.matmul %a, %b  : (tensor<4096x512xbf16>, tensor<512x4096xbf16>) -> tensor<4096x4096xbf16>
    ark.yield %1 : tensor<4096x4096xbf16>
  }
  ark.return %0 : tensor<4096x4096xbf16>
}


// CHECK-LABEL: ark.program @wideFloatsHaveNoPreference
ark.program @wideFloatsHaveNoPreference(
    %x: tensor<4096x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xf32> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32>
    ark.yield %1 : tensor<4096x4096xf32>
  }
  ark.return %0 : tensor<4096x4096xf32>
}

// Threads split elements of f32 for the matrix units of sm_90a. The stages of larger tiles exceed the shared memory.
// CHECK-LABEL: ark.program @splitElements
ark.program @splitElements(
    %x: tensor<4096x4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xf32> {ark.name = "y"}) {
  // SM80: tile = array<i64: 128, 128>
  // SM90: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    ark.yield %1 : tensor<4096x4096xf32>
  }
  ark.return %0 : tensor<4096x4096xf32>
}

// A head of 64 elements has tiles of one panel.
// CHECK-LABEL: ark.program @panel
ark.program @panel(
    %x: tensor<12x1024x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<12x1024x64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<12x1024x64xbf16> {ark.name = "y"}) {
  // SM90: tile = array<i64: 1, 128, 64>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<12x1024x1024xbf16>, tensor<12x1024x64xbf16>) -> tensor<12x1024x64xbf16> {
    %1 = ark.matmul %a, %b : (tensor<12x1024x1024xbf16>, tensor<12x1024x64xbf16>) -> tensor<12x1024x64xbf16>
    ark.yield %1 : tensor<12x1024x64xbf16>
  }
  ark.return %0 : tensor<12x1024x64xbf16>
}

// A tile of 64 rows has all rows of a smaller number.
// CHECK-LABEL: ark.program @fewerRowsThanATile
ark.program @fewerRowsThanATile(
    %x: tensor<32x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %u: tensor<30x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "u"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<32x4096xbf16> {ark.name = "y"}, tensor<30x4096xbf16> {ark.name = "z"}) {
  // SM80: tile = array<i64: 16, 64>
  // SM90: tile = array<i64: 32, 32>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<32x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<32x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<32x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<32x4096xbf16>
    ark.yield %1 : tensor<32x4096xbf16>
  }
  // SM80: tile = array<i64: 16, 64>
  // SM90: tile = array<i64: 30, 32>
  %2 = ark.group "h" (%a = %u, %b = %w)
      : (tensor<30x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<30x4096xbf16> {
    %3 = ark.matmul %a, %b {transpose_other} : (tensor<30x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<30x4096xbf16>
    ark.yield %3 : tensor<30x4096xbf16>
  }
  ark.return %0, %2 : tensor<32x4096xbf16>, tensor<30x4096xbf16>
}

// 130 rows are a whole and a clipped tile of 64 or 128 rows. Rows across K are not clipped if threads cannot copy 16
// bytes at once from each of them.
// CHECK-LABEL: ark.program @clippedRows
ark.program @clippedRows(
    %x: tensor<130x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %u: tensor<4096x130xbf16> {ark.kind = #ark.kind<input>, ark.name = "u"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<130x4096xbf16> {ark.name = "y"}, tensor<130x4096xbf16> {ark.name = "z"}) {
  // SM90: tile = array<i64: 128, 64>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<130x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<130x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<130x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<130x4096xbf16>
    ark.yield %1 : tensor<130x4096xbf16>
  }
  // SM90: tile = array<i64: 40, 128>
  %2 = ark.group "h" (%a = %u, %b = %w)
      : (tensor<4096x130xbf16>, tensor<4096x4096xbf16>) -> tensor<130x4096xbf16> {
    %3 = ark.matmul %a, %b {transpose_input, transpose_other} : (tensor<4096x130xbf16>, tensor<4096x4096xbf16>) -> tensor<130x4096xbf16>
    ark.yield %3 : tensor<130x4096xbf16>
  }
  ark.return %0, %2 : tensor<130x4096xbf16>, tensor<130x4096xbf16>
}

// Rows across K are clipped if their addresses are multiples of 16 bytes: 196 elements are no multiple of 8, and a slice of
// rows of 200 elements has the addresses of the whole rows.
// CHECK-LABEL: ark.program @clippedColumnsAcrossTheDepth
ark.program @clippedColumnsAcrossTheDepth(
    %w: tensor<256x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %a: tensor<8x1024x784xbf16> {ark.kind = #ark.kind<input>, ark.name = "a"},
    %b: tensor<8x1024x196xbf16> {ark.kind = #ark.kind<input>, ark.name = "b"},
    %c: tensor<8x1024x200xbf16> {ark.kind = #ark.kind<input>, ark.name = "c"})
    -> (tensor<8x256x784xbf16> {ark.name = "x"}, tensor<8x256x196xbf16> {ark.name = "y"},
        tensor<8x256x196xbf16> {ark.name = "z"}) {
  // SM90: tile = array<i64: 1, 128, 128>
  %0 = ark.group "a" (%l = %w, %r = %a)
      : (tensor<256x1024xbf16>, tensor<8x1024x784xbf16>) -> tensor<8x256x784xbf16> {
    %1 = ark.matmul %l, %r : (tensor<256x1024xbf16>, tensor<8x1024x784xbf16>) -> tensor<8x256x784xbf16>
    ark.yield %1 : tensor<8x256x784xbf16>
  }
  // SM90: tile = array<i64: 1, 32, 112>
  %2 = ark.group "b" (%l = %w, %r = %b)
      : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16> {
    %3 = ark.matmul %l, %r : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16>
    ark.yield %3 : tensor<8x256x196xbf16>
  }
  %4 = ark.slice %c starts = [0, 0, 0] stops = [8, 1024, 196] steps = [1, 1, 1]
      : (tensor<8x1024x200xbf16>) -> tensor<8x1024x196xbf16>
  // SM90: tile = array<i64: 1, 64, 64>
  %5 = ark.group "c" (%l = %w, %r = %4)
      : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16> {
    %6 = ark.matmul %l, %r : (tensor<256x1024xbf16>, tensor<8x1024x196xbf16>) -> tensor<8x256x196xbf16>
    ark.yield %6 : tensor<8x256x196xbf16>
  }
  ark.return %0, %2, %5 : tensor<8x256x784xbf16>, tensor<8x256x196xbf16>, tensor<8x256x196xbf16>
}

// Matrix units compute no clipped tiles of attention, so that tiles divide 130 and 1000 queries, also by odd numbers.
// CHECK-LABEL: ark.program @queriesOfAttention
ark.program @queriesOfAttention(
    %q: tensor<32x130x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %r: tensor<32x1000x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "r"},
    %k: tensor<32x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<32x130x64xbf16> {ark.name = "y"}, tensor<32x1000x64xbf16> {ark.name = "z"}) {
  // SM90: tile = array<i64: 1, 26, 64>
  %0 = ark.group "g" (%a = %q, %b = %k)
      : (tensor<32x130x64xbf16>, tensor<32x1024x64xbf16>) -> tensor<32x130x64xbf16> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<32x130x64xbf16>, tensor<32x1024x64xbf16>, tensor<32x1024x64xbf16>) -> tensor<32x130x64xbf16>
    ark.yield %1 : tensor<32x130x64xbf16>
  }
  // SM90: tile = array<i64: 1, 250, 64>
  %2 = ark.group "h" (%a = %r, %b = %k)
      : (tensor<32x1000x64xbf16>, tensor<32x1024x64xbf16>) -> tensor<32x1000x64xbf16> {
    %3 = ark.attention %a, %b, %b scale = 1.0 : (tensor<32x1000x64xbf16>, tensor<32x1024x64xbf16>, tensor<32x1024x64xbf16>) -> tensor<32x1000x64xbf16>
    ark.yield %3 : tensor<32x1000x64xbf16>
  }
  ark.return %0, %2 : tensor<32x130x64xbf16>, tensor<32x1000x64xbf16>
}
