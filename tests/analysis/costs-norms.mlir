// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-test-print-costs -o /dev/null | FileCheck %s

// A norm costs as much as the structured ops that replace it.
#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// Both the sum and the result convert an element. Each element has a square, a sum, a product with the scale and a
// rounding, and each row a quotient, a sum and a root of 8 operations: 4 * 64 * 6 + 4 * 10.
// CHECK: rms: {{.*}}, 1576 flops;
ark.program @rmsNorm(
    %x: memref<4x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x64xbf16> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "rms" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xbf16>) {
  ^bb0(%i: index, %a: memref<4x64xbf16, strided<[64, 1], offset: ?>>, %o: memref<4x64xbf16, strided<[64, 1], offset: ?>>):
    %s = memref.alloca() : memref<4xf32>
    ark.row_norm ins(%a : memref<4x64xbf16, strided<[64, 1], offset: ?>>) outs(%o : memref<4x64xbf16, strided<[64, 1], offset: ?>>)
        scale(%s : memref<4xf32>) eps = 1.0e-5 maps [#all, #all, #rows] prologue {
    ^bb1(%element: bf16):
      %number = arith.extf %element : bf16 to f32
      ark.yield %number : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: bf16):
      %narrow = arith.truncf %normalised : f32 to bf16
      ark.yield %narrow : bf16
    }
    ark.yield
  }
  ark.return
}
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// Each element has two sums, two differences, a square and a product, and each row one more quotient:
// 4 * 64 * 6 + 4 * 11. The epilogue doubles the result.
// CHECK: layer: {{.*}}, 1836 flops;
ark.program @layerNorm(
    %x: memref<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "layer" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>)
      outs(%y[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) {
  ^bb0(%i: index, %a: memref<4x64xf32, strided<[64, 1], offset: ?>>, %o: memref<4x64xf32, strided<[64, 1], offset: ?>>):
    %s = memref.alloca() : memref<4xf32>
    %m = memref.alloca() : memref<4xf32>
    ark.row_norm ins(%a : memref<4x64xf32, strided<[64, 1], offset: ?>>) outs(%o : memref<4x64xf32, strided<[64, 1], offset: ?>>) mean(%m : memref<4xf32>)
        scale(%s : memref<4xf32>) eps = 1.0e-5 maps [#all, #all, #rows, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      %double = arith.addf %normalised, %normalised : f32
      ark.yield %double : f32
    }
    ark.yield
  }
  ark.return
}
}
