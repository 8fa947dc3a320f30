// RUN: ark-opt %s --mlir-disable-threading --ark-test-print-costs -o /dev/null | FileCheck %s

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 232448, bandwidth = 4680, flops = 790000, handoff = 600, barrier = 950, overhead = 200>} {
// Four rows of 56 windows take 256 columns of a stage. A stage of 64 of the depth has 320 rows to copy and 512 rows to
// read, 707 ps each: nine stages and 3,000 ns for the prologue and the epilogue take 8,294 ns.
// CHECK: listed: {{.*}} first 8294 ns
// Three rows take 192 columns, of which warpgroups have no equal shares. Threads execute four operations for each of
// 6,193,152 terms, 120 in a nanosecond.
// CHECK-NEXT: notListed: {{.*}} first 207638 ns
ark.program @convolutions(
    %f: memref<64x64x3x3xf16> {ark.kind = #ark.kind<parameter>, ark.name = "f"},
    %x: memref<8x64x174x56xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<8x64x56x56xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<8x64x57x56xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "listed" grid [8, 14]
      ins(%f[#ark.region<(d0, d1) -> (0, 0, 0, 0), [64, 64, 3, 3]>] : memref<64x64x3x3xf16>,
          %x[#ark.region<(d0, d1) -> (d0, 0, d1 * 12, 0), [1, 64, 18, 56]>] : memref<8x64x174x56xf16>)
      outs(%y[#ark.region<(d0, d1) -> (d0, 0, d1 * 4, 0), [1, 64, 4, 56]>] : memref<8x64x56x56xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<64x64x3x3xf16, strided<[576, 9, 3, 1], offset: ?>>, %b: memref<1x64x18x56xf16, strided<[623616, 9744, 56, 1], offset: ?>>, %c: memref<1x64x4x56xf32, strided<[200704, 3136, 56, 1], offset: ?>>):
    %image = memref.subview %b[0, 0, 0, 0] [1, 64, 18, 56] [1, 1, 1, 1] : memref<1x64x18x56xf16, strided<[623616, 9744, 56, 1], offset: ?>> to memref<64x18x56xf16, strided<[9744, 56, 1], offset: ?>>
    %out = memref.subview %c[0, 0, 0, 0] [1, 64, 4, 56] [1, 1, 1, 1] : memref<1x64x4x56xf32, strided<[200704, 3136, 56, 1], offset: ?>> to memref<64x4x56xf32, strided<[3136, 56, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, y, x, c, i, j) -> (m, c, i, j)>, affine_map<(m, y, x, c, i, j) -> (c, y * 3 + i * 3 + j, x)>, affine_map<(m, y, x, c, i, j) -> (m, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %image : memref<64x64x3x3xf16, strided<[576, 9, 3, 1], offset: ?>>, memref<64x18x56xf16, strided<[9744, 56, 1], offset: ?>>) outs(%out : memref<64x4x56xf32, strided<[3136, 56, 1], offset: ?>>) {
      ^bb0(%l: f16, %r: f16, %s: f32):
        %u = arith.extf %l : f16 to f32
        %v = arith.extf %r : f16 to f32
        %p = arith.mulf %u, %v : f32
        %t = arith.addf %s, %p : f32
        linalg.yield %t : f32
      }
    ark.yield
  }
  ark.task "notListed" grid [8, 19]
      ins(%f[#ark.region<(d0, d1) -> (0, 0, 0, 0), [64, 64, 3, 3]>] : memref<64x64x3x3xf16>,
          %x[#ark.region<(d0, d1) -> (d0, 0, d1 * 8, 0), [1, 64, 15, 56]>] : memref<8x64x174x56xf16>)
      outs(%z[#ark.region<(d0, d1) -> (d0, 0, d1 * 3, 0), [1, 64, 3, 56]>] : memref<8x64x57x56xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<64x64x3x3xf16, strided<[576, 9, 3, 1], offset: ?>>, %b: memref<1x64x15x56xf16, strided<[623616, 9744, 56, 1], offset: ?>>, %c: memref<1x64x3x56xf32, strided<[204288, 3192, 56, 1], offset: ?>>):
    %image = memref.subview %b[0, 0, 0, 0] [1, 64, 15, 56] [1, 1, 1, 1] : memref<1x64x15x56xf16, strided<[623616, 9744, 56, 1], offset: ?>> to memref<64x15x56xf16, strided<[9744, 56, 1], offset: ?>>
    %out = memref.subview %c[0, 0, 0, 0] [1, 64, 3, 56] [1, 1, 1, 1] : memref<1x64x3x56xf32, strided<[204288, 3192, 56, 1], offset: ?>> to memref<64x3x56xf32, strided<[3192, 56, 1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(m, y, x, c, i, j) -> (m, c, i, j)>, affine_map<(m, y, x, c, i, j) -> (c, y * 3 + i * 3 + j, x)>, affine_map<(m, y, x, c, i, j) -> (m, y, x)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction", "reduction"]}
        ins(%a, %image : memref<64x64x3x3xf16, strided<[576, 9, 3, 1], offset: ?>>, memref<64x15x56xf16, strided<[9744, 56, 1], offset: ?>>) outs(%out : memref<64x3x56xf32, strided<[3192, 56, 1], offset: ?>>) {
      ^bb0(%l: f16, %r: f16, %s: f32):
        %u = arith.extf %l : f16 to f32
        %v = arith.extf %r : f16 to f32
        %p = arith.mulf %u, %v : f32
        %t = arith.addf %s, %p : f32
        linalg.yield %t : f32
      }
    ark.yield
  }
  ark.return
}
}
