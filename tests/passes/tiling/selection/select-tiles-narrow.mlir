// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,GFX942
// RUN: ark-opt %s --ark-assign-target=target=hip:gfx950 --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,GFX950
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-select-tiles | FileCheck %s --check-prefixes=CHECK,SM90

// Preferred tiles of operands of 8 bits: threads of AMD GPUs store their stages. On sm_90a, warps read the operands.

// CHECK-LABEL: ark.program @integers
ark.program @integers(
    %x: tensor<4096x4096xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xi32> {ark.name = "y"}) {
  // GFX942: tile = array<i64: 256, 128>
  // GFX950: tile = array<i64: 256, 128>
  // SM90: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x4096xi8>, tensor<4096x4096xi8>) -> tensor<4096x4096xi32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x4096xi8>, tensor<4096x4096xi8>) -> tensor<4096x4096xi32>
    ark.yield %1 : tensor<4096x4096xi32>
  }
  ark.return %0 : tensor<4096x4096xi32>
}

// gfx942 has no instruction for fp8 of OCP.
// CHECK-LABEL: ark.program @floats
ark.program @floats(
    %x: tensor<4096x4096xf8E4M3FN> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096x4096xf32> {ark.name = "y"}) {
  // GFX942: tile = array<i64: 128, 128>
  // GFX950: tile = array<i64: 256, 128>
  // SM90: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>) -> tensor<4096x4096xf32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x4096xf8E4M3FN>, tensor<4096x4096xf8E4M3FN>) -> tensor<4096x4096xf32>
    ark.yield %1 : tensor<4096x4096xf32>
  }
  ark.return %0 : tensor<4096x4096xf32>
}

// Threads do not transpose elements of 8 bits, and 192 is not a multiple of the 128 elements of a stage.
// CHECK-LABEL: ark.program @others
ark.program @others(
    %x: tensor<4096x4096xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<4096x4096xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %p: tensor<4096x192xi8> {ark.kind = #ark.kind<input>, ark.name = "p"},
    %q: tensor<4096x192xi8> {ark.kind = #ark.kind<parameter>, ark.name = "q"})
    -> (tensor<4096x4096xi32> {ark.name = "y"}, tensor<4096x4096xi32> {ark.name = "z"}) {
  // CHECK: tile = array<i64: 128, 128>
  // CHECK: tile = array<i64: 128, 128>
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4096x4096xi8>, tensor<4096x4096xi8>) -> tensor<4096x4096xi32> {
    %1 = ark.matmul %a, %b : (tensor<4096x4096xi8>, tensor<4096x4096xi8>) -> tensor<4096x4096xi32>
    ark.yield %1 : tensor<4096x4096xi32>
  }
  %2 = ark.group "h" (%a = %p, %b = %q)
      : (tensor<4096x192xi8>, tensor<4096x192xi8>) -> tensor<4096x4096xi32> {
    %1 = ark.matmul %a, %b {transpose_other} : (tensor<4096x192xi8>, tensor<4096x192xi8>) -> tensor<4096x4096xi32>
    ark.yield %1 : tensor<4096x4096xi32>
  }
  ark.return %0, %2 : tensor<4096x4096xi32>, tensor<4096x4096xi32>
}
