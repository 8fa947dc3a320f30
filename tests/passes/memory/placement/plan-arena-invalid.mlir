// RUN: ark-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(ark.program(ark-plan-arena{limit=128}))'

// The error names the intermediates that are live at the peak, those with the most bytes first.
// expected-error @below {{needs an arena of 384 bytes, which exceeds the memory limit of 128 bytes; intermediates of 384 bytes are live at the same time, at task 'c'}}
ark.program @tooLarge(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<16xf32>
  %b = memref.alloc() : memref<64xf32>
  %c = memref.alloc() : memref<16xf32>
  // expected-note @below {{64 bytes, 'memref<16xf32>': from task 'a' to task 'c'}}
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  // expected-note @below {{256 bytes, 'memref<64xf32>': from task 'b' to task 'c'}}
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  // expected-note @below {{64 bytes, 'memref<16xf32>': from task 'c' to task 'd'}}
  ark.task "c" grid [1] ins(%a[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%c[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
