// RUN: ark-opt %s --ark-select-tiles --split-input-file --verify-diagnostics

// expected-error @below {{the module has no 'ark.target' to choose tiles for}}
ark.program @noTarget() {
  ark.return
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @planIsNoList(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'act' has tile = "large"; expected a list of extents}}
  %0 = ark.group "act" (%a = %x) attributes {plan = {tile = "large"}} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = ark.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %1 : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @planHoldsNoNumber(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'act' has tile = [4, "all"]; expected a list of extents}}
  %0 = ark.group "act" (%a = %x) attributes {plan = {tile = [4, "all"]}} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = ark.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %1 : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @planHasMoreDimensionsThanTheResult(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'act' has tile = [1, 4, 8] for a result of type 'tensor<4x8xf32>'; expected a positive extent for each of its last dimensions}}
  %0 = ark.group "act" (%a = %x) attributes {plan = {tile = [1, 4, 8]}} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = ark.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %1 : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @planHasAnEmptyTile(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'act' has tile = [0, 8] for a result of type 'tensor<4x8xf32>'; expected a positive extent for each of its last dimensions}}
  %0 = ark.group "act" (%a = %x) attributes {plan = {tile = [0, 8]}} : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %1 = ark.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %1 : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @planCannotSplitAWholeDimension(
    %x: tensor<8x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x64xf32> {ark.name = "y"}) {
  // expected-error @below {{plan of 'g' has tile extent 32 in dimension 1 of 'tensor<8x64xf32>', which the group does not permit: the nearest extent is 64}}
  %0 = ark.group "g" (%a = %x) attributes {plan = {tile = [2, 32]}}
      : (tensor<8x64xf32>) -> tensor<8x64xf32> {
    %1 = ark.layernorm %a eps = 1.0e-5 : (tensor<8x64xf32>) -> tensor<8x64xf32>
    ark.yield %1 : tensor<8x64xf32>
  }
  ark.return %0 : tensor<8x64xf32>
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
// With tiles of three heads, every second tile would need the keys of two key heads.
ark.program @plannedHeadsShareTheirKeys(
    %q: tensor<8x16x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x128x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<8x16x64xf32> {ark.name = "y"}) {
  // expected-error @below {{has tile extent 3 in dimension 0 of 'tensor<8x16x64xf32>', which the group does not permit: the nearest extent is 2}}
  %0 = ark.group "g" (%a = %q, %b = %k) attributes {plan = {tile = [3, 16, 64]}}
      : (tensor<8x16x64xf32>, tensor<2x128x64xf32>) -> tensor<8x16x64xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<8x16x64xf32>, tensor<2x128x64xf32>, tensor<2x128x64xf32>) -> tensor<8x16x64xf32>
    ark.yield %1 : tensor<8x16x64xf32>
  }
  ark.return %0 : tensor<8x16x64xf32>
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
ark.program @plannedHeadsAreWholeKeyHeads(
    %q: tensor<16x16x64xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<4x128x64xf32> {ark.kind = #ark.kind<input>, ark.name = "k"})
    -> (tensor<16x16x64xf32> {ark.name = "y"}) {
  // expected-error @below {{has tile extent 7 in dimension 0 of 'tensor<16x16x64xf32>', which the group does not permit: the nearest extent is 4}}
  %0 = ark.group "g" (%a = %q, %b = %k) attributes {plan = {tile = [7, 16, 64]}}
      : (tensor<16x16x64xf32>, tensor<4x128x64xf32>) -> tensor<16x16x64xf32> {
    %1 = ark.attention %a, %b, %b scale = 1.0 : (tensor<16x16x64xf32>, tensor<4x128x64xf32>, tensor<4x128x64xf32>) -> tensor<16x16x64xf32>
    ark.yield %1 : tensor<16x16x64xf32>
  }
  ark.return %0 : tensor<16x16x64xf32>
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 262144, bandwidth = 40, flops = 320, handoff = 200, barrier = 400, overhead = 50>} {
// A tile of two sequences would have two lengths.
ark.program @plannedTileHasOneLength(
    %q: tensor<8x2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<8x2x8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %n: tensor<8xi32> {ark.kind = #ark.kind<input>, ark.name = "n"})
    -> (tensor<8x2x1x16xf32> {ark.name = "y"}) {
  // expected-error @below {{has tile extent 2 in dimension 0 of 'tensor<8x2x1x16xf32>', which the group does not permit: the nearest extent is 1}}
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %n) attributes {plan = {tile = [2, 2, 1, 16]}}
      : (tensor<8x2x1x16xf32>, tensor<8x2x8x16xf32>, tensor<8xi32>) -> tensor<8x2x1x16xf32> {
    %1 = ark.attention %a, %b, %b kv_length %c scale = 1.0 : (tensor<8x2x1x16xf32>, tensor<8x2x8x16xf32>, tensor<8x2x8x16xf32>, tensor<8xi32>) -> tensor<8x2x1x16xf32>
    ark.yield %1 : tensor<8x2x1x16xf32>
  }
  ark.return %0 : tensor<8x2x1x16xf32>
}
}
