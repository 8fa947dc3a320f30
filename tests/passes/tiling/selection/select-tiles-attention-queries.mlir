// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,GFX942

// Attention without scores needs tiles that divide the queries. Clipped tiles store their scores.

// The number of queries is prime. The scores of 577 keys fit into the memory of an SM.
// CHECK-LABEL: ark.program @noDivisor
ark.program @noDivisor(
    %q: tensor<16x577x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<16x577x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<16x577x64xbf16> {ark.name = "y"}) {
  // SM90: tile = array<i64: 1, 64, 64>
  // GFX942: tile = array<i64: 1, 8, 64>
  %0 = ark.group "g" (%a = %q, %b = %k) : (tensor<16x577x64xbf16>, tensor<16x577x64xbf16>) -> tensor<16x577x64xbf16> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<16x577x64xbf16>, tensor<16x577x64xbf16>, tensor<16x577x64xbf16>) -> tensor<16x577x64xbf16>
    ark.yield %1 : tensor<16x577x64xbf16>
  }
  ark.return %0 : tensor<16x577x64xbf16>
}

// The scores of 1024 keys fit for fewer rows.
// CHECK-LABEL: ark.program @noDivisorAndMoreKeys
ark.program @noDivisorAndMoreKeys(
    %q: tensor<8x1009x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<8x1009x64xbf16> {ark.name = "y"}) {
  // SM90: tile = array<i64: 1, 32, 64>
  // GFX942: tile = array<i64: 1, 8, 64>
  %0 = ark.group "g" (%a = %q, %b = %k) : (tensor<8x1009x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<8x1009x64xbf16> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<8x1009x64xbf16>, tensor<8x1024x64xbf16>, tensor<8x1024x64xbf16>) -> tensor<8x1009x64xbf16>
    ark.yield %1 : tensor<8x1009x64xbf16>
  }
  ark.return %0 : tensor<8x1009x64xbf16>
}

// All queries of a head are one tile, which is not cut for idle SMs.
// CHECK-LABEL: ark.program @onePrimeTile
ark.program @onePrimeTile(
    %q: tensor<12x127x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<12x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<12x127x64xbf16> {ark.name = "y"}) {
  // SM90: tile = array<i64: 1, 127, 64>
  // GFX942: tile = array<i64: 1, 127, 64>
  %0 = ark.group "g" (%a = %q, %b = %k) : (tensor<12x127x64xbf16>, tensor<12x1024x64xbf16>) -> tensor<12x127x64xbf16> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<12x127x64xbf16>, tensor<12x1024x64xbf16>, tensor<12x1024x64xbf16>) -> tensor<12x127x64xbf16>
    ark.yield %1 : tensor<12x127x64xbf16>
  }
  ark.return %0 : tensor<12x127x64xbf16>
}

// Half of the queries is the next divisor above 64. The tile is not cut for idle SMs.
// CHECK-LABEL: ark.program @halfOfTheQueries
ark.program @halfOfTheQueries(
    %q: tensor<8x262x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x512x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<8x262x64xbf16> {ark.name = "y"}) {
  // SM90: tile = array<i64: 1, 131, 64>
  // GFX942: tile = array<i64: 1, 131, 64>
  %0 = ark.group "g" (%a = %q, %b = %k) : (tensor<8x262x64xbf16>, tensor<8x512x64xbf16>) -> tensor<8x262x64xbf16> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<8x262x64xbf16>, tensor<8x512x64xbf16>, tensor<8x512x64xbf16>) -> tensor<8x262x64xbf16>
    ark.yield %1 : tensor<8x262x64xbf16>
  }
  ark.return %0 : tensor<8x262x64xbf16>
}

// The pass prefers 64 rows. The divisor 127 of 254 queries is nearer to 64 than the divisor 254.
// CHECK-LABEL: ark.program @nearestDivisor
ark.program @nearestDivisor(
    %q: tensor<32x254x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<32x1024x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<32x254x64xbf16> {ark.name = "y"}) {
  // SM90: tile = array<i64: 1, 127, 64>
  // GFX942: tile = array<i64: 1, 127, 64>
  %0 = ark.group "g" (%a = %q, %b = %k) : (tensor<32x254x64xbf16>, tensor<32x1024x64xbf16>) -> tensor<32x254x64xbf16> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<32x254x64xbf16>, tensor<32x1024x64xbf16>, tensor<32x1024x64xbf16>) -> tensor<32x254x64xbf16>
    ark.yield %1 : tensor<32x254x64xbf16>
  }
  ark.return %0 : tensor<32x254x64xbf16>
}

// Tiles for idle SMs divide the queries: half of 91 rows would be clipped. The model of gfx942 predicts no gain.
// CHECK-LABEL: ark.program @cutForIdleSMs
ark.program @cutForIdleSMs(
    %q: tensor<8x91x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x4096x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<8x91x64xbf16> {ark.name = "y"}) {
  // SM90: tile = array<i64: 1, 13, 64>
  // GFX942: tile = array<i64: 1, 91, 64>
  %0 = ark.group "g" (%a = %q, %b = %k) : (tensor<8x91x64xbf16>, tensor<8x4096x64xbf16>) -> tensor<8x91x64xbf16> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<8x91x64xbf16>, tensor<8x4096x64xbf16>, tensor<8x4096x64xbf16>) -> tensor<8x91x64xbf16>
    ark.yield %1 : tensor<8x91x64xbf16>
  }
  ark.return %0 : tensor<8x91x64xbf16>
}
