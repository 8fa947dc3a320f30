// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark-assign-target{target=cuda:sm_90a},ark.program(ark-hand-off-packets))' | FileCheck %s

// Warpgroups copy the operands of a tile that the target lists from their buffers to stages of shared memory. Such an
// operand does not become packets, which are received into a temporary.
#id = affine_map<(d0, d1) -> (d0, d1)>
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: ark.program @staged(
// CHECK-NOT: ark.receive_packets
// CHECK: linalg.contract
ark.program @staged(
    %x: memref<64x128xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: memref<1024x128xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %y: memref<64x1024xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<64x128xf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0 * 16, 0), [16, 128]>] : memref<64x128xf16>)
      outs(%h[#ark.region<(d0) -> (d0 * 16, 0), [16, 128]>] : memref<64x128xf16>) {
  ^bb0(%i: index, %a: memref<16x128xf16, strided<[128, 1], offset: ?>>, %b: memref<16x128xf16, strided<[128, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<16x128xf16, strided<[128, 1], offset: ?>>) outs(%b : memref<16x128xf16, strided<[128, 1], offset: ?>>) {
    ^bb0(%in: f16, %out: f16):
      linalg.yield %in : f16
    }
    ark.yield
  }
  ark.task "b" grid [8]
      ins(%h[#ark.region<(d0) -> (0, 0), [64, 128]>] : memref<64x128xf16>, %w[#ark.region<(d0) -> (d0 * 128, 0), [128, 128]>] : memref<1024x128xf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 128), [64, 128]>] : memref<64x1024xf32>) {
  ^bb0(%i: index, %a: memref<64x128xf16, strided<[128, 1], offset: ?>>, %b: memref<128x128xf16, strided<[128, 1], offset: ?>>, %c: memref<64x128xf32, strided<[1024, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%c : memref<64x128xf32, strided<[1024, 1], offset: ?>>)
    linalg.contract indexing_maps = [#left, #right, #out]
        ins(%a, %b : memref<64x128xf16, strided<[128, 1], offset: ?>>, memref<128x128xf16, strided<[128, 1], offset: ?>>)
        outs(%c : memref<64x128xf32, strided<[1024, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The target lists no tile of eight rows, so that threads multiply what they receive.
#id = affine_map<(d0, d1) -> (d0, d1)>
#left = affine_map<(m, n, k) -> (m, k)>
#right = affine_map<(m, n, k) -> (n, k)>
#out = affine_map<(m, n, k) -> (m, n)>
// CHECK-LABEL: ark.program @few(
// CHECK: ark.receive_packets
// CHECK: linalg.contract
ark.program @few(
    %x: memref<8x128xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: memref<1024x128xf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %y: memref<8x1024xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<8x128xf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0 * 2, 0), [2, 128]>] : memref<8x128xf16>)
      outs(%h[#ark.region<(d0) -> (d0 * 2, 0), [2, 128]>] : memref<8x128xf16>) {
  ^bb0(%i: index, %a: memref<2x128xf16, strided<[128, 1], offset: ?>>, %b: memref<2x128xf16, strided<[128, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<2x128xf16, strided<[128, 1], offset: ?>>) outs(%b : memref<2x128xf16, strided<[128, 1], offset: ?>>) {
    ^bb0(%in: f16, %out: f16):
      linalg.yield %in : f16
    }
    ark.yield
  }
  ark.task "b" grid [8]
      ins(%h[#ark.region<(d0) -> (0, 0), [8, 128]>] : memref<8x128xf16>, %w[#ark.region<(d0) -> (d0 * 128, 0), [128, 128]>] : memref<1024x128xf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 128), [8, 128]>] : memref<8x1024xf32>) {
  ^bb0(%i: index, %a: memref<8x128xf16, strided<[128, 1], offset: ?>>, %b: memref<128x128xf16, strided<[128, 1], offset: ?>>, %c: memref<8x128xf32, strided<[1024, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%c : memref<8x128xf32, strided<[1024, 1], offset: ?>>)
    linalg.contract indexing_maps = [#left, #right, #out]
        ins(%a, %b : memref<8x128xf16, strided<[128, 1], offset: ?>>, memref<128x128xf16, strided<[128, 1], offset: ?>>)
        outs(%c : memref<8x128xf32, strided<[1024, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
