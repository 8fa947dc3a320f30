// RUN: ark-opt %s --verify-diagnostics --ark-guard-stores

func.func @copyAtTheIndex(%m: memref<8x4xf32>, %from: memref<1x4xf32>, %index: index) {
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  %view = memref.subview %m[%valid, 0] [1, 4] [1, 1] : memref<8x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
  // expected-error @below {{writes at an index that is only valid at run time, in a way that cannot be skipped}}
  memref.copy %from, %view : memref<1x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
  return
}
