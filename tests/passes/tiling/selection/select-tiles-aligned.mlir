// RUN: ark-opt %s --ark-assign-target=target=cpu:2 --ark-select-tiles | FileCheck %s

// Four query heads share a key head: a tile has four rotations and one row of the cache.
// CHECK-LABEL: ark.program @tilesOfAttention
// CHECK: ark.group "q_rope"{{.*}}tile = array<i64: 1, 4, 1, 16>
// CHECK: ark.group "k_rope"{{.*}}tile = array<i64: 1, 1, 1, 16>
// CHECK: ark.group "cache"{{.*}}tile = array<i64: 1, 1, 1, 16>
// CHECK: ark.group "attention"{{.*}}tile = array<i64: 1, 4, 1, 16>
ark.program @tilesOfAttention(
    %q: tensor<1x8x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %c: tensor<1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x1x16xf32> {ark.name = "y"}) {
  %0 = ark.group "q_rope" (%a = %q, %b = %c) : (tensor<1x8x1x16xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x8x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  %1 = ark.group "k_rope" (%a = %k, %b = %c) : (tensor<1x2x1x16xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x2x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32>
    ark.yield %r : tensor<1x2x1x16xf32>
  }
  %2 = ark.group "cache" (%a = %s, %b = %1, %d = %p) : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32> {
    %r = ark.update %b into %a [0, 0, %d, 0] : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32>
    ark.yield %r : tensor<1x2x64x16xf32>
  }
  %4 = ark.group "attention" (%a = %0, %b = %2) : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.attention %a, %b, %b scale = 1.0 : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  ark.return %4 : tensor<1x8x1x16xf32>
}

// Norms of heads before a rotation get the same tiles.
// CHECK-LABEL: ark.program @normsOfHeads
// CHECK: ark.group "q_norm"{{.*}}tile = array<i64: 1, 4, 1, 16>
// CHECK: ark.group "k_norm"{{.*}}tile = array<i64: 1, 1, 1, 16>
// CHECK: ark.group "q_rope"{{.*}}tile = array<i64: 1, 4, 1, 16>
// CHECK: ark.group "k_rope"{{.*}}tile = array<i64: 1, 1, 1, 16>
// CHECK: ark.group "cache"{{.*}}tile = array<i64: 1, 1, 1, 16>
// CHECK: ark.group "attention"{{.*}}tile = array<i64: 1, 4, 1, 16>
ark.program @normsOfHeads(
    %q: tensor<1x8x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %c: tensor<1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x1x16xf32> {ark.name = "y"}) {
  %5 = ark.group "q_norm" (%a = %q) : (tensor<1x8x1x16xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.rmsnorm %a eps = 1.0e-6 : (tensor<1x8x1x16xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  %6 = ark.group "k_norm" (%a = %k) : (tensor<1x2x1x16xf32>) -> tensor<1x2x1x16xf32> {
    %r = ark.layernorm %a eps = 1.0e-6 : (tensor<1x2x1x16xf32>) -> tensor<1x2x1x16xf32>
    ark.yield %r : tensor<1x2x1x16xf32>
  }
  %0 = ark.group "q_rope" (%a = %5, %b = %c) : (tensor<1x8x1x16xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x8x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  %1 = ark.group "k_rope" (%a = %6, %b = %c) : (tensor<1x2x1x16xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x2x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32>
    ark.yield %r : tensor<1x2x1x16xf32>
  }
  %2 = ark.group "cache" (%a = %s, %b = %1, %d = %p) : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32> {
    %r = ark.update %b into %a [0, 0, %d, 0] : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32>
    ark.yield %r : tensor<1x2x64x16xf32>
  }
  %4 = ark.group "attention" (%a = %0, %b = %2) : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.attention %a, %b, %b scale = 1.0 : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  ark.return %4 : tensor<1x8x1x16xf32>
}

// Each query head has its own tile, and four tiles read the same keys.
// CHECK-LABEL: ark.program @keysOfManyTiles
// CHECK: ark.group "q_rope"{{.*}}tile = array<i64: 1, 1, 32, 16>
// CHECK: ark.group "k_rope"{{.*}}tile = array<i64: 1, 1, 16, 16>
// CHECK: ark.group "attention"{{.*}}tile = array<i64: 1, 1, 32, 16>
ark.program @keysOfManyTiles(
    %q: tensor<1x8x32x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x32x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %c: tensor<32x8xf32> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x32x16xf32> {ark.name = "y"}) {
  %0 = ark.group "q_rope" (%a = %q, %b = %c) : (tensor<1x8x32x16xf32>, tensor<32x8xf32>) -> tensor<1x8x32x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x8x32x16xf32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<1x8x32x16xf32>
    ark.yield %r : tensor<1x8x32x16xf32>
  }
  %1 = ark.group "k_rope" (%a = %k, %b = %c) : (tensor<1x2x32x16xf32>, tensor<32x8xf32>) -> tensor<1x2x32x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x2x32x16xf32>, tensor<32x8xf32>, tensor<32x8xf32>) -> tensor<1x2x32x16xf32>
    ark.yield %r : tensor<1x2x32x16xf32>
  }
  %2 = ark.group "cache" (%a = %s, %b = %1, %d = %p) : (tensor<1x2x64x16xf32>, tensor<1x2x32x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32> {
    %r = ark.update %b into %a [0, 0, %d, 0] : (tensor<1x2x64x16xf32>, tensor<1x2x32x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32>
    ark.yield %r : tensor<1x2x64x16xf32>
  }
  %4 = ark.group "attention" (%a = %0, %b = %2) : (tensor<1x8x32x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x32x16xf32> {
    %r = ark.attention %a, %b, %b scale = 1.0 : (tensor<1x8x32x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x32x16xf32>
    ark.yield %r : tensor<1x8x32x16xf32>
  }
  ark.return %4 : tensor<1x8x32x16xf32>
}

// Other readers of the value do not change the tiles.
// CHECK-LABEL: ark.program @otherReaders
// CHECK: ark.group "q_rope"{{.*}}tile = array<i64: 1, 8, 1, 16>
// CHECK: ark.group "attention"{{.*}}tile = array<i64: 1, 4, 1, 16>
ark.program @otherReaders(
    %q: tensor<1x8x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %c: tensor<1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x1x16xf32> {ark.name = "y"}, tensor<1x8x1x16xf32> {ark.name = "z"}) {
  %0 = ark.group "q_rope" (%a = %q, %b = %c) : (tensor<1x8x1x16xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x8x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  %1 = ark.group "k_rope" (%a = %k, %b = %c) : (tensor<1x2x1x16xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x2x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32>
    ark.yield %r : tensor<1x2x1x16xf32>
  }
  %2 = ark.group "cache" (%a = %s, %b = %1, %d = %p) : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32> {
    %r = ark.update %b into %a [0, 0, %d, 0] : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32>
    ark.yield %r : tensor<1x2x64x16xf32>
  }
  %4 = ark.group "attention" (%a = %0, %b = %2) : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.attention %a, %b, %b scale = 1.0 : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  ark.return %4, %0 : tensor<1x8x1x16xf32>, tensor<1x8x1x16xf32>
}

// A tile from the user stays.
// CHECK-LABEL: ark.program @tilesOfTheUser
// CHECK: ark.group "q_rope"{{.*}}tile = array<i64: 1, 2, 1, 16>
// CHECK: ark.group "k_rope"{{.*}}tile = array<i64: 1, 1, 1, 16>
// CHECK: ark.group "attention"{{.*}}tile = array<i64: 1, 4, 1, 16>
ark.program @tilesOfTheUser(
    %q: tensor<1x8x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<1x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %c: tensor<1x8xf32> {ark.kind = #ark.kind<input>, ark.name = "c"},
    %s: tensor<1x2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<1x8x1x16xf32> {ark.name = "y"}) {
  %0 = ark.group "q_rope" (%a = %q, %b = %c) attributes {tile = array<i64: 1, 2, 1, 16>} : (tensor<1x8x1x16xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x8x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  %1 = ark.group "k_rope" (%a = %k, %b = %c) : (tensor<1x2x1x16xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32> {
    %r = ark.rope %a, %b, %b : (tensor<1x2x1x16xf32>, tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x2x1x16xf32>
    ark.yield %r : tensor<1x2x1x16xf32>
  }
  %2 = ark.group "cache" (%a = %s, %b = %1, %d = %p) : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32> {
    %r = ark.update %b into %a [0, 0, %d, 0] : (tensor<1x2x64x16xf32>, tensor<1x2x1x16xf32>, tensor<i32>) -> tensor<1x2x64x16xf32>
    ark.yield %r : tensor<1x2x64x16xf32>
  }
  %4 = ark.group "attention" (%a = %0, %b = %2) : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32> {
    %r = ark.attention %a, %b, %b scale = 1.0 : (tensor<1x8x1x16xf32>, tensor<1x2x64x16xf32>, tensor<1x2x64x16xf32>) -> tensor<1x8x1x16xf32>
    ark.yield %r : tensor<1x8x1x16xf32>
  }
  ark.return %4 : tensor<1x8x1x16xf32>
}
