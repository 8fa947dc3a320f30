// RUN: ark-opt %s --ark-assign-target=target=cpu:4 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,CPU
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,CUDA

// CHECK-LABEL: ark.program @matmulTilesArePanelsOrSquares
ark.program @matmulTilesArePanelsOrSquares(
    %x: tensor<4096x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 64, 128>
  // CUDA: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32>
    ark.yield %1 : tensor<4096x4096xf32>
  }
  ark.return %0 : tensor<4096x4096xf32>
}

// CHECK-LABEL: ark.program @deepPanelsAreNarrowInCaches
ark.program @deepPanelsAreNarrowInCaches(
    %x: tensor<4096x2048xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x2048xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 64, 64>
  // CUDA: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x2048xf32>, tensor<4096x2048xf32>) -> tensor<4096x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x2048xf32>, tensor<4096x2048xf32>) -> tensor<4096x4096xf32>
    ark.yield %1 : tensor<4096x4096xf32>
  }
  ark.return %0 : tensor<4096x4096xf32>
}

// Four SMs get sixteen tiles.
// CHECK-LABEL: ark.program @smallMatmulHasATileForEverySM
ark.program @smallMatmulHasATileForEverySM(
    %x: tensor<64x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<256x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<64x256xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 32, 32>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<64x512xf32>, tensor<256x512xf32>) -> tensor<64x256xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<64x512xf32>, tensor<256x512xf32>) -> tensor<64x256xf32>
    ark.yield %1 : tensor<64x256xf32>
  }
  ark.return %0 : tensor<64x256xf32>
}

// The tiles have 56 and 44 rows rather than 64 and 36.
// CHECK-LABEL: ark.program @raggedRowsAreSplitEvenly
ark.program @raggedRowsAreSplitEvenly(
    %x: tensor<100x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<100x4096xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 56, 128>
  // CUDA: tile = array<i64: 32, 64>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<100x512xf32>, tensor<4096x512xf32>) -> tensor<100x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<100x512xf32>, tensor<4096x512xf32>) -> tensor<100x4096xf32>
    ark.yield %1 : tensor<100x4096xf32>
  }
  ark.return %0 : tensor<100x4096xf32>
}

// CHECK-LABEL: ark.program @leadingDimensionsAreRowsOfAMatmul
ark.program @leadingDimensionsAreRowsOfAMatmul(
    %x: tensor<32x4x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<32x4x4096xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 16, 4, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<32x4x512xf32>, tensor<4096x512xf32>) -> tensor<32x4x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<32x4x512xf32>, tensor<4096x512xf32>) -> tensor<32x4x4096xf32>
    ark.yield %1 : tensor<32x4x4096xf32>
  }
  ark.return %0 : tensor<32x4x4096xf32>
}

// CHECK-LABEL: ark.program @batchesWithRightOperandsOfTheirOwnHaveSeparateTiles
ark.program @batchesWithRightOperandsOfTheirOwnHaveSeparateTiles(
    %x: tensor<32x64x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x4096x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<32x64x4096xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 1, 64, 128>
  // CUDA: tile = array<i64: 1, 64, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<32x64x512xf32>, tensor<32x4096x512xf32>) -> tensor<32x64x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<32x64x512xf32>, tensor<32x4096x512xf32>) -> tensor<32x64x4096xf32>
    ark.yield %1 : tensor<32x64x4096xf32>
  }
  ark.return %0 : tensor<32x64x4096xf32>
}

// On 132 SMs, 918 tiles of 12 columns are 7 per SM: an excess of less than 1 %. With 64
// columns, some SMs would read twice as much as others. A core takes one tile.
// CHECK-LABEL: ark.program @streamedColumnsBalanceOverTheSMs
ark.program @streamedColumnsBalanceOverTheSMs(
    %x: tensor<1x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<11008x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<1x11008xbf16> {ark.name = "y"}) {
  // CPU: tile = array<i64: 1, 2752>
  // CUDA: tile = array<i64: 1, 12>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<1x4096xbf16>, tensor<11008x4096xbf16>) -> tensor<1x11008xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<1x4096xbf16>, tensor<11008x4096xbf16>) -> tensor<1x11008xbf16>
    ark.yield %1 : tensor<1x11008xbf16>
  }
  ark.return %0 : tensor<1x11008xbf16>
}

// No number of columns balances 4096 over 132 SMs within 2 %; tiles of 32 are within 4 %.
// CHECK-LABEL: ark.program @streamedColumnsTakeTheMostEqualShares
ark.program @streamedColumnsTakeTheMostEqualShares(
    %x: tensor<1x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<1x4096xbf16> {ark.name = "y"}) {
  // CPU: tile = array<i64: 1, 1024>
  // CUDA: tile = array<i64: 1, 32>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<1x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<1x4096xbf16>
    ark.yield %1 : tensor<1x4096xbf16>
  }
  ark.return %0 : tensor<1x4096xbf16>
}

// CHECK-LABEL: ark.program @attentionTilesAreQueryRowsOfOneHead
ark.program @attentionTilesAreQueryRowsOfOneHead(
    %q: tensor<12x512x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<12x512x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<12x512x64xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 1, 64, 64>
  %0 = ark.group "g" (%a = %q, %b = %k)
      : (tensor<12x512x64xf32>, tensor<12x512x64xf32>) -> tensor<12x512x64xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<12x512x64xf32>, tensor<12x512x64xf32>, tensor<12x512x64xf32>) -> tensor<12x512x64xf32>
    ark.yield %1 : tensor<12x512x64xf32>
  }
  ark.return %0 : tensor<12x512x64xf32>
}

// Four query heads read the same keys.
// CHECK-LABEL: ark.program @fewQueriesOfOneKeyHeadShareATile
ark.program @fewQueriesOfOneKeyHeadShareATile(
    %q: tensor<32x1x128xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x1024x128xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<32x1x128xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 4, 1, 128>
  %0 = ark.group "g" (%a = %q, %b = %k)
      : (tensor<32x1x128xf32>, tensor<8x1024x128xf32>) -> tensor<32x1x128xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<32x1x128xf32>, tensor<8x1024x128xf32>, tensor<8x1024x128xf32>) -> tensor<32x1x128xf32>
    ark.yield %1 : tensor<32x1x128xf32>
  }
  ark.return %0 : tensor<32x1x128xf32>
}

// The scores of 16384 keys take more than an eighth of an SM's memory for four
// heads: each head has its own vCTA. On a cpu they fit into the caches.
// CHECK-LABEL: ark.program @headsOfALongCacheHaveSeparateTiles
ark.program @headsOfALongCacheHaveSeparateTiles(
    %q: tensor<32x1x128xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x16384x128xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<32x1x128xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 4, 1, 128>
  // CUDA: tile = array<i64: 1, 1, 128>
  %0 = ark.group "g" (%a = %q, %b = %k)
      : (tensor<32x1x128xf32>, tensor<8x16384x128xf32>) -> tensor<32x1x128xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<32x1x128xf32>, tensor<8x16384x128xf32>, tensor<8x16384x128xf32>) -> tensor<32x1x128xf32>
    ark.yield %1 : tensor<32x1x128xf32>
  }
  ark.return %0 : tensor<32x1x128xf32>
}

// CHECK-LABEL: ark.program @manyQueriesOfOneKeyHeadHaveSeparateTiles
ark.program @manyQueriesOfOneKeyHeadHaveSeparateTiles(
    %q: tensor<8x64x128xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x1024x128xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<8x64x128xf32> {ark.name = "y"}) {
  // On a GPU the scores of all rows of a tile must fit into the memory of an SM.
  // CPU: tile = array<i64: 1, 64, 128>
  // CUDA: tile = array<i64: 1, 32, 128>
  %0 = ark.group "g" (%a = %q, %b = %k)
      : (tensor<8x64x128xf32>, tensor<2x1024x128xf32>) -> tensor<8x64x128xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<8x64x128xf32>, tensor<2x1024x128xf32>, tensor<2x1024x128xf32>) -> tensor<8x64x128xf32>
    ark.yield %1 : tensor<8x64x128xf32>
  }
  ark.return %0 : tensor<8x64x128xf32>
}

// Every row has 6 KiB of input and output.
// CHECK-LABEL: ark.program @rowOpsTakeWholeRows
ark.program @rowOpsTakeWholeRows(
    %x: tensor<1024x768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1024x768xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 4, 768>
  // CUDA: tile = array<i64: 4, 768>
  %0 = ark.group "g" (%a = %x)
      : (tensor<1024x768xf32>) -> tensor<1024x768xf32> {
    %1 = ark.softmax %a axis = 1 : (tensor<1024x768xf32>) -> tensor<1024x768xf32>
    ark.yield %1 : tensor<1024x768xf32>
  }
  ark.return %0 : tensor<1024x768xf32>
}

// CHECK-LABEL: ark.program @softmaxTakesAllOfItsAxis
ark.program @softmaxTakesAllOfItsAxis(
    %x: tensor<64x4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<64x4096xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 64, 64>
  // CUDA: tile = array<i64: 64, {{[0-9]+}}>
  %0 = ark.group "g" (%a = %x)
      : (tensor<64x4096xf32>) -> tensor<64x4096xf32> {
    %1 = ark.softmax %a axis = 0 : (tensor<64x4096xf32>) -> tensor<64x4096xf32>
    ark.yield %1 : tensor<64x4096xf32>
  }
  ark.return %0 : tensor<64x4096xf32>
}

// A row is one tile, whatever its size.
// CHECK-LABEL: ark.program @longRowIsOneTile
ark.program @longRowIsOneTile(
    %x: tensor<4x65536xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x65536xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 1, 65536>
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x65536xf32>) -> tensor<4x65536xf32> {
    %1 = ark.rmsnorm %a eps = 1.0e-5 : (tensor<4x65536xf32>) -> tensor<4x65536xf32>
    ark.yield %1 : tensor<4x65536xf32>
  }
  ark.return %0 : tensor<4x65536xf32>
}

// CHECK-LABEL: ark.program @elementwiseTilesMaySplitRows
ark.program @elementwiseTilesMaySplitRows(
    %x: tensor<4x65536xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x65536xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 1, 4096>
  // CUDA: tile = array<i64: 1, 1024>
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x65536xf32>) -> tensor<4x65536xf32> {
    %1 = ark.exp %a : (tensor<4x65536xf32>) -> tensor<4x65536xf32>
    ark.yield %1 : tensor<4x65536xf32>
  }
  ark.return %0 : tensor<4x65536xf32>
}

// A tile has eight rows of 3 KiB.
// CHECK-LABEL: ark.program @tilesOfAReductionDivideItsResult
ark.program @tilesOfAReductionDivideItsResult(
    %x: tensor<1024x768xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<1024xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 8>
  // CUDA: tile = array<i64: 4>
  %0 = ark.group "g" (%a = %x)
      : (tensor<1024x768xf32>) -> tensor<1024xf32> {
    %1 = ark.reduce_sum %a axes = [1] keepdims = false : (tensor<1024x768xf32>) -> tensor<1024xf32>
    ark.yield %1 : tensor<1024xf32>
  }
  ark.return %0 : tensor<1024xf32>
}

// CHECK-LABEL: ark.program @concatHoldsAllOfTheJoinedDimension
ark.program @concatHoldsAllOfTheJoinedDimension(
    %x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<64x16xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<64x48xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: {{[0-9]+}}, 48>
  %0 = ark.group "g" (%a = %x, %b = %z)
      : (tensor<64x32xf32>, tensor<64x16xf32>) -> tensor<64x48xf32> {
    %1 = ark.concat %a, %b axis = 1 : (tensor<64x32xf32>, tensor<64x16xf32>) -> tensor<64x48xf32>
    ark.yield %1 : tensor<64x48xf32>
  }
  ark.return %0 : tensor<64x48xf32>
}

// CHECK-LABEL: ark.program @tilesOfAnUpdateDivideTheValue
ark.program @tilesOfAnUpdateDivideTheValue(
    %s: tensor<8x1024x128xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %v: tensor<8x4x128xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"})
    -> (tensor<8x1024x128xbf16> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 1, 4, 128>
  %0 = ark.group "g" (%a = %s, %b = %v)
      : (tensor<8x1024x128xbf16>, tensor<8x4x128xbf16>) -> tensor<8x1024x128xbf16> {
    %1 = ark.update %b into %a [0, 0, 0] : (tensor<8x1024x128xbf16>, tensor<8x4x128xbf16>) -> tensor<8x1024x128xbf16>
    ark.yield %1 : tensor<8x1024x128xbf16>
  }
  ark.return %0 : tensor<8x1024x128xbf16>
}

// The rows of the update are dynamic, so two tiles could write the same rows.
// CHECK-LABEL: ark.program @updateAtADynamicOffsetKeepsRowsTogether
ark.program @updateAtADynamicOffsetKeepsRowsTogether(
    %s: tensor<8x1024x128xbf16> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: tensor<8x256x128xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"}) {
  // CPU: tile = array<i64: 1, 256, 32>
  // CUDA: tile = array<i64: 1, 256, 16>
  %0 = ark.group "g" (%a = %s, %b = %x, %c = %p)
      : (tensor<8x1024x128xbf16>, tensor<8x256x128xbf16>, tensor<i32>) -> tensor<8x1024x128xbf16> {
    %1 = ark.update %b into %a [0, %c, 0] : (tensor<8x1024x128xbf16>, tensor<8x256x128xbf16>, tensor<i32>) -> tensor<8x1024x128xbf16>
    ark.yield %1 : tensor<8x1024x128xbf16>
  }
  ark.return
}

// CHECK-LABEL: ark.program @tileOfThePlanWins
ark.program @tileOfThePlanWins(
    %x: tensor<4096x512xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x512xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 32, 256>
  %0 = ark.group "g" (%a = %x, %b = %w) attributes {plan = {tile = [32, 256]}}
      : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x512xf32>, tensor<4096x512xf32>) -> tensor<4096x4096xf32>
    ark.yield %1 : tensor<4096x4096xf32>
  }
  ark.return %0 : tensor<4096x4096xf32>
}

// CHECK-LABEL: ark.program @shortPlanIsForTheLastDimensions
ark.program @shortPlanIsForTheLastDimensions(
    %x: tensor<8x16x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x16x64xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 1, 1, 32>
  %0 = ark.group "g" (%a = %x) attributes {plan = {tile = [32]}}
      : (tensor<8x16x64xf32>) -> tensor<8x16x64xf32> {
    %1 = ark.exp %a : (tensor<8x16x64xf32>) -> tensor<8x16x64xf32>
    ark.yield %1 : tensor<8x16x64xf32>
  }
  ark.return %0 : tensor<8x16x64xf32>
}

// CHECK-LABEL: ark.program @planIsClippedToTheResult
ark.program @planIsClippedToTheResult(
    %x: tensor<8x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 8, 64>
  %0 = ark.group "g" (%a = %x) attributes {plan = {tile = array<i64: 16, 128>}}
      : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    %1 = ark.exp %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
    ark.yield %1 : tensor<8x64xf32>
  }
  ark.return %0 : tensor<8x64xf32>
}

// CHECK-LABEL: ark.program @existingTileStays
ark.program @existingTileStays(
    %x: tensor<8x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 2, 16>
  %0 = ark.group "g" (%a = %x) attributes {tile = array<i64: 2, 16>}
      : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    %1 = ark.exp %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
    ark.yield %1 : tensor<8x64xf32>
  }
  ark.return %0 : tensor<8x64xf32>
}

// Rows that share the right operand are in a leading dimension, which is split
// if SMs would be idle otherwise.
// CHECK-LABEL: ark.program @leadingDimensionsAreSplitForIdleSMs
ark.program @leadingDimensionsAreSplitForIdleSMs(
    %x: tensor<64x1x4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x4096xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<64x1x32xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 16, 1, 32>
  // CUDA: tile = array<i64: 2, 1, 16>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<64x1x4096xf32>, tensor<32x4096xf32>) -> tensor<64x1x32xf32> {
    %1 = ark.matmul %a, %b {transpose_other}
      : (tensor<64x1x4096xf32>, tensor<32x4096xf32>) -> tensor<64x1x32xf32>
    ark.yield %1 : tensor<64x1x32xf32>
  }
  ark.return %0 : tensor<64x1x32xf32>
}

// A hand-off between SMs would take longer than the work.
// CHECK-LABEL: ark.program @littleWorkIsOneTile
ark.program @littleWorkIsOneTile(
    %x: tensor<16x1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<16x1x32xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 16, 1, 32>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<16x1x8xf32>, tensor<32x8xf32>) -> tensor<16x1x32xf32> {
    %1 = ark.matmul %a, %b {transpose_other}
      : (tensor<16x1x8xf32>, tensor<32x8xf32>) -> tensor<16x1x32xf32>
    ark.yield %1 : tensor<16x1x32xf32>
  }
  ark.return %0 : tensor<16x1x32xf32>
}

// Query heads that share keys and values get separate tiles if computing takes
// longer than rereading the keys, or if the scores take much memory. Here
// sixteen heads share one key head.
// CHECK-LABEL: ark.program @headsOfAKeyHeadAreSplitForIdleSMs
ark.program @headsOfAKeyHeadAreSplitForIdleSMs(
    %q: tensor<1x16x1x128xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x1x2048x128xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<1x16x1x128xf32> {ark.name = "y"}) {
  // CPU: tile = array<i64: 1, 8, 1, 128>
  // CUDA: tile = array<i64: 1, 2, 1, 128>
  %0 = ark.group "g" (%a = %q, %b = %k)
      : (tensor<1x16x1x128xf32>, tensor<1x1x2048x128xf32>) -> tensor<1x16x1x128xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0
      : (tensor<1x16x1x128xf32>, tensor<1x1x2048x128xf32>, tensor<1x1x2048x128xf32>) -> tensor<1x16x1x128xf32>
    ark.yield %1 : tensor<1x16x1x128xf32>
  }
  ark.return %0 : tensor<1x16x1x128xf32>
}

// Every element of a row depends on the whole row.
// CHECK-LABEL: ark.program @wholeRowsStayWholeForIdleSMs
ark.program @wholeRowsStayWholeForIdleSMs(
    %x: tensor<2x65536xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<2x65536xf32> {ark.name = "y"}) {
  // CHECK: tile = array<i64: 1, 65536>
  %0 = ark.group "g" (%a = %x) : (tensor<2x65536xf32>) -> tensor<2x65536xf32> {
    %1 = ark.softmax %a axis = 1 : (tensor<2x65536xf32>) -> tensor<2x65536xf32>
    ark.yield %1 : tensor<2x65536xf32>
  }
  ark.return %0 : tensor<2x65536xf32>
}

// Tiles of a few columns give nearly equal shares.
// CHECK-LABEL: ark.program @aRowStreamsInEqualShares
ark.program @aRowStreamsInEqualShares(
    %x: tensor<1x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8192x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<1x8192xbf16> {ark.name = "y"}) {
  // CUDA: tile = array<i64: 1, 3>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<1x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16> {
    %1 = ark.matmul %a, %b {transpose_other}
      : (tensor<1x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16>
    ark.yield %1 : tensor<1x8192xbf16>
  }
  ark.return %0 : tensor<1x8192xbf16>
}

// Matrix units compute products with this many rows, and prefer large tiles.
// CHECK-LABEL: ark.program @matrixUnitsWantLargeTiles
ark.program @matrixUnitsWantLargeTiles(
    %x: tensor<8x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8192x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<8x8192xbf16> {ark.name = "y"}) {
  // CUDA: tile = array<i64: 8, 64>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16> {
    %1 = ark.matmul %a, %b {transpose_other}
      : (tensor<8x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<8x8192xbf16>
    ark.yield %1 : tensor<8x8192xbf16>
  }
  ark.return %0 : tensor<8x8192xbf16>
}
