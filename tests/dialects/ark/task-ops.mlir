// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

// CHECK: module attributes {ark.stage = "tiling", ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132
module attributes {ark.stage = "tiling", ark.target = #ark.target<backend = cuda, arch = "sm_90a",
    sms = 132, warps = 16, shared_memory = 232448, bandwidth = 4680, flops = 790000,
    handoff = 600, barrier = 950, overhead = 200>} {

// CHECK-LABEL: ark.program @groupCapturesItsOperands
ark.program @groupCapturesItsOperands(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: ark.group "act" (%[[A:[a-z0-9]+]] = %{{[a-z0-9]+}}) attributes {tile = array<i64: 2, 8>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %0 = ark.group "act" (%a = %x) attributes {tile = array<i64: 2, 8>}
      : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    // CHECK: ark.relu %[[A]]
    %1 = ark.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %1 : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @groupReadsTheOffsetOfItsTile
ark.program @groupReadsTheOffsetOfItsTile(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  %0 = ark.group "act" (%a = %x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    // CHECK: ark.tile_offset 1
    %1 = ark.tile_offset 1
    ark.yield %a : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @taskOnTensorsYieldsTiles
ark.program @taskOnTensorsYieldsTiles(
    %x: tensor<40xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<40xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<40xf32>
  // CHECK: ark.task "copy" grid [3]
  // CHECK-SAME: ins(%{{[a-z0-9]+}}[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<40xf32>)
  // CHECK-SAME: outs(%{{[a-z0-9]+}}[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<40xf32>)
  // CHECK-SAME: attributes {ops = ["copy"]}
  // CHECK-NEXT: ^bb0(%{{[a-z0-9]+}}: index, %[[IN:[a-z0-9]+]]: tensor<?xf32>, %{{[a-z0-9]+}}: tensor<?xf32>)
  %0 = ark.task "copy" grid [3]
      ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<40xf32>)
      outs(%e[#ark.region<(d0) -> (d0 * 16), [16]>] : tensor<40xf32>)
      attributes {ops = ["copy"]} {
  ^bb0(%i: index, %a: tensor<?xf32>, %b: tensor<?xf32>):
    // CHECK-NEXT: ark.yield %[[IN]] : tensor<?xf32>
    ark.yield %a : tensor<?xf32>
  } : tensor<40xf32>
  ark.return %0 : tensor<40xf32>
}

// CHECK-LABEL: ark.program @taskOnBuffersHasNoResult
ark.program @taskOnBuffersHasNoResult(
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // CHECK: ark.arena : memref<64xi8>
  %arena = ark.arena : memref<64xi8>
  // CHECK: ark.buffer_cast %{{.+}} : memref<32xf32> to memref<4x8xf16, strided<[16, 1], offset: 2>>
  %c = ark.buffer_cast %y : memref<32xf32> to memref<4x8xf16, strided<[16, 1], offset: 2>>
  // CHECK: ark.task "fill" grid [2] ins() outs(%{{[a-z0-9]+}}[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
  ark.task "fill" grid [2] ins() outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    // CHECK: ark.check_index %{{.+}} below
    %j = ark.check_index %i below %i
    // CHECK: ark.check_index %{{.+}} below %{{.+}} sequence %{{.+}} {stores}
    %k = ark.check_index %i below %i sequence %i {stores}
    ark.yield
  }
  ark.return
}
}
