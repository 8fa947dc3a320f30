// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-test-buffer-view --verify-diagnostics | FileCheck %s

// CHECK: whole 0: argument 0 bytes [0, 128) shape [32] strides [1] of f32 dense whole
ark.program @wholeArgument(%x: memref<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.task "whole" grid [1] ins(%x[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) outs() {
  ^bb0(%i: index, %a: memref<32xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// Offsets of memref.view count bytes, offsets of other views count elements.
// CHECK: arena 0: ark.arena bytes [192, 256) shape [4, 4] strides [4, 1] of f32 dense{{$}}
// CHECK: arena 1: ark.arena bytes [200, 252) shape [2, 3] strides [8, 2] of f32{{$}}
ark.program @arenaViews(%x: memref<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  %arena = ark.arena : memref<256xi8>
  %c192 = arith.constant 192 : index
  %0 = memref.view %arena[%c192][] : memref<256xi8> to memref<4x4xf32>
  %1 = memref.reinterpret_cast %0 to offset: [2], sizes: [2, 3], strides: [8, 2]
    : memref<4x4xf32> to memref<2x3xf32, strided<[8, 2], offset: 2>>
  ark.task "arena" grid [1]
      ins(%0[#ark.region<(d0) -> (0, 0), [4, 4]>] : memref<4x4xf32>,
          %1[#ark.region<(d0) -> (0, 0), [2, 3]>] : memref<2x3xf32, strided<[8, 2], offset: 2>>) outs() {
  ^bb0(%i: index, %a: memref<4x4xf32, strided<[4, 1], offset: ?>>, %b: memref<2x3xf32, strided<[8, 2], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// CHECK: chain 0: argument 0 bytes [4, 20) shape [4, 2] strides [1, 4] of f16{{$}}
// CHECK: chain 1: argument 0 bytes [0, 32) shape [5, 16] strides [0, 1] of f16{{$}}
ark.program @chainOfViews(%x: memref<16xf16> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  %0 = memref.expand_shape %x [[0, 1]] output_shape [4, 4] : memref<16xf16> into memref<4x4xf16>
  %1 = memref.subview %0[0, 2] [4, 2] [1, 1] : memref<4x4xf16> to memref<4x2xf16, strided<[4, 1], offset: 2>>
  %2 = memref.transpose %1 (d0, d1) -> (d1, d0) : memref<4x2xf16, strided<[4, 1], offset: 2>> to memref<2x4xf16, strided<[1, 4], offset: 2>>
  %3 = memref.reinterpret_cast %2 to offset: [2], sizes: [4, 2], strides: [1, 4]
    : memref<2x4xf16, strided<[1, 4], offset: 2>> to memref<4x2xf16, strided<[1, 4], offset: 2>>
  %4 = memref.reinterpret_cast %x to offset: [0], sizes: [5, 16], strides: [0, 1]
    : memref<16xf16> to memref<5x16xf16, strided<[0, 1]>>
  ark.task "chain" grid [1]
      ins(%3[#ark.region<(d0) -> (0, 0), [4, 2]>] : memref<4x2xf16, strided<[1, 4], offset: 2>>,
          %4[#ark.region<(d0) -> (0, 0), [5, 16]>] : memref<5x16xf16, strided<[0, 1]>>) outs() {
  ^bb0(%i: index, %a: memref<4x2xf16, strided<[1, 4], offset: ?>>, %b: memref<5x16xf16, strided<[0, 1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @offsetThatIsNotConstant(%x: memref<index> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  %arena = ark.arena : memref<256xi8>
  %i = memref.load %x[] : memref<index>
  // expected-error @below {{lies at an offset that is not constant}}
  %0 = memref.view %arena[%i][] : memref<256xi8> to memref<4xf32>
  ark.task "t" grid [1] ins(%0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs() {
  ^bb0(%j: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @dynamicLayout(%x: memref<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  %c1 = arith.constant 1 : index
  // expected-error @below {{has no static shape, strides and offset}}
  %0 = memref.subview %x[%c1] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: ?>>
  ark.task "t" grid [1] ins(%0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32, strided<[1], offset: ?>>) outs() {
  ^bb0(%j: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @rootThatIsNoBuffer(%x: memref<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  // expected-error @below {{cannot be resolved to a part of a buffer}}
  %0 = builtin.unrealized_conversion_cast %x : memref<8xf32> to memref<4xf32>
  ark.task "t" grid [1] ins(%0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs() {
  ^bb0(%j: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// Offsets and strides count elements of the last type; the bytes count from the start of the buffer.
// CHECK: cast 0: argument 0 bytes [8, 152) shape [3, 8] strides [32, 1] of f16{{$}}
// CHECK: cast 1: ark.arena bytes [64, 128) shape [64] strides [1] of ui8 dense{{$}}
ark.program @castOfABuffer(%x: memref<6x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  %arena = ark.arena : memref<256xi8>
  %c64 = arith.constant 64 : index
  %t = memref.view %arena[%c64][] : memref<256xi8> to memref<16xf32>
  %0 = ark.buffer_cast %x : memref<6x8xf32> to memref<3x8xf16, strided<[32, 1], offset: 4>>
  %1 = ark.buffer_cast %t : memref<16xf32> to memref<64xui8>
  ark.task "cast" grid [1]
      ins(%0[#ark.region<(d0) -> (0, 0), [3, 8]>] : memref<3x8xf16, strided<[32, 1], offset: 4>>,
          %1[#ark.region<(d0) -> (0), [64]>] : memref<64xui8>) outs() {
  ^bb0(%i: index, %a: memref<3x8xf16, strided<[32, 1], offset: ?>>, %b: memref<64xui8, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
