// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-test-print-costs -o /dev/null | FileCheck %s

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
// The target lists the tile of 256 x 128. A stage of 64 of the depth has 384 rows to copy and 768 rows to read, 707 ps
// each: 64 stages and 3,000 ns for the prologue and the epilogue take 55,126 ns. The bytes of all tiles would take
// longer at the rate of DRAM, but DRAM delivers an operand once to the tiles that run at the same time.
// CHECK: listed: reads 1610612736 bytes, {{.*}} first 55126 ns
// The same bytes without a product take 92,623 ns, and two passes of 500 ns each.
// CHECK-NEXT: copied: reads 1610612736 bytes, {{.*}} first 93623 ns
// A tile of 256 x 96 is not listed: DRAM limits it. The pass of the product takes 500 ns as well.
// CHECK-NEXT: notListed: {{.*}} first 85305 ns
ark.program @products(
    %x: memref<4096x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: memref<4096x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "w"},
    %v: memref<3072x4096xbf16> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %y: memref<4096x4096xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<4096x3072xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "listed" grid [16, 32]
      ins(%x[#ark.region<(d0, d1) -> (d0 * 256, 0), [256, 4096]>] : memref<4096x4096xbf16>,
          %w[#ark.region<(d0, d1) -> (d1 * 128, 0), [128, 4096]>] : memref<4096x4096xbf16>)
      outs(%y[#ark.region<(d0, d1) -> (d0 * 256, d1 * 128), [256, 128]>] : memref<4096x4096xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<256x4096xbf16, strided<[4096, 1], offset: ?>>, %b: memref<128x4096xbf16, strided<[4096, 1], offset: ?>>, %c: memref<256x128xf32, strided<[4096, 1], offset: ?>>):
    linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%a, %b : memref<256x4096xbf16, strided<[4096, 1], offset: ?>>, memref<128x4096xbf16, strided<[4096, 1], offset: ?>>)
        outs(%c : memref<256x128xf32, strided<[4096, 1], offset: ?>>)
    ark.yield
  }
  ark.task "copied" grid [16, 32]
      ins(%x[#ark.region<(d0, d1) -> (d0 * 256, 0), [256, 4096]>] : memref<4096x4096xbf16>,
          %w[#ark.region<(d0, d1) -> (d1 * 128, 0), [128, 4096]>] : memref<4096x4096xbf16>)
      outs(%y[#ark.region<(d0, d1) -> (d0 * 256, d1 * 128), [256, 128]>] : memref<4096x4096xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<256x4096xbf16, strided<[4096, 1], offset: ?>>, %b: memref<128x4096xbf16, strided<[4096, 1], offset: ?>>, %c: memref<256x128xf32, strided<[4096, 1], offset: ?>>):
    linalg.generic {indexing_maps = [affine_map<(m, k) -> (m, k)>, affine_map<(m, k) -> (0, k)>, affine_map<(m, k) -> (m, 0)>], iterator_types = ["parallel", "reduction"]}
        ins(%a, %b : memref<256x4096xbf16, strided<[4096, 1], offset: ?>>, memref<128x4096xbf16, strided<[4096, 1], offset: ?>>)
        outs(%c : memref<256x128xf32, strided<[4096, 1], offset: ?>>) {
    ^bb0(%l: bf16, %r: bf16, %o: f32):
      linalg.yield %o : f32
    }
    ark.yield
  }
  ark.task "notListed" grid [16, 32]
      ins(%x[#ark.region<(d0, d1) -> (d0 * 256, 0), [256, 4096]>] : memref<4096x4096xbf16>,
          %v[#ark.region<(d0, d1) -> (d1 * 96, 0), [96, 4096]>] : memref<3072x4096xbf16>)
      outs(%z[#ark.region<(d0, d1) -> (d0 * 256, d1 * 96), [256, 96]>] : memref<4096x3072xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<256x4096xbf16, strided<[4096, 1], offset: ?>>, %b: memref<96x4096xbf16, strided<[4096, 1], offset: ?>>, %c: memref<256x96xf32, strided<[3072, 1], offset: ?>>):
    linalg.contract indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
        ins(%a, %b : memref<256x4096xbf16, strided<[4096, 1], offset: ?>>, memref<96x4096xbf16, strided<[4096, 1], offset: ?>>)
        outs(%c : memref<256x96xf32, strided<[3072, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}
