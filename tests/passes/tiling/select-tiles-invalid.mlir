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
