// RUN: ark-opt %s --verify-diagnostics --split-input-file --ark-guard-stores

func.func @copyAtTheIndex(%m: memref<8x4xf32>, %from: memref<1x4xf32>, %index: index) {
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  %view = memref.subview %m[%valid, 0] [1, 4] [1, 1] : memref<8x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
  // expected-error @below {{writes at an index that is only valid at run time, in a way that cannot be skipped}}
  memref.copy %from, %view : memref<1x4xf32> to memref<1x4xf32, strided<[4, 1], offset: ?>>
  return
}

// -----

// The function may write to the buffer.
func.func private @writes(memref<1xf32, strided<[1], offset: ?>>)
func.func @callWithABuffer(%m: memref<8xf32>, %index: index) {
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  %view = memref.subview %m[%valid] [1] [1] : memref<8xf32> to memref<1xf32, strided<[1], offset: ?>>
  // expected-error @below {{writes at an index that is only valid at run time, in a way that cannot be skipped}}
  func.call @writes(%view) : (memref<1xf32, strided<[1], offset: ?>>) -> ()
  return
}

// -----

func.func private @writes(!llvm.ptr)
func.func @callWithAPointer(%base: !llvm.ptr, %index: index) {
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  %offset = arith.index_cast %valid : index to i64
  %pointer = llvm.getelementptr %base[%offset] : (!llvm.ptr, i64) -> !llvm.ptr, f32
  // expected-error @below {{writes at an index that is only valid at run time, in a way that cannot be skipped}}
  func.call @writes(%pointer) : (!llvm.ptr) -> ()
  return
}

// -----

// The next iteration stores at the index of this one.
func.func @indexOfThePreviousIteration(%m: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  %last = scf.for %i = %c0 to %c16 step %c1 iter_args(%at = %c0) -> index {
    memref.store %x, %m[%at] : memref<8xf32>
    %valid = ark.store_index %i below %c8
    // expected-error @below {{passes on an index that is only valid at run time, or a value that depends on it}}
    scf.yield %valid : index
  }
  return
}

// -----

func.func @initialValueOfALoop(%m: memref<8xf32>, %index: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  // expected-error @below {{passes on an index that is only valid at run time, or a value that depends on it}}
  %last = scf.for %i = %c0 to %c8 step %c1 iter_args(%at = %valid) -> index {
    memref.store %x, %m[%at] : memref<8xf32>
    scf.yield %at : index
  }
  return
}

// -----

// The comparison inside of the branch does not exist behind it.
func.func @indexOfABranch(%m: memref<8xf32>, %index: index, %condition: i1, %x: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %at = scf.if %condition -> index {
    %valid = ark.store_index %index below %c8
    // expected-error @below {{passes on an index that is only valid at run time, or a value that depends on it}}
    scf.yield %valid : index
  } else {
    scf.yield %c0 : index
  }
  memref.store %x, %m[%at] : memref<8xf32>
  return
}

// -----

// The step moves the addresses of all iterations but the first.
func.func @stepOfALoop(%m: memref<8xf32>, %index: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  // expected-error @below {{passes on an index that is only valid at run time, or a value that depends on it}}
  scf.for %i = %c0 to %c8 step %valid {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  return
}

// -----

func.func @conditionOfALoop(%m: memref<8xf32>, %index: index, %condition: i1, %x: f32) {
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  // expected-error @below {{passes on an index that is only valid at run time, or a value that depends on it}}
  %last = scf.while (%at = %valid) : (index) -> index {
    scf.condition(%condition) %at : index
  } do {
  ^bb0(%at: index):
    memref.store %x, %m[%at] : memref<8xf32>
    scf.yield %at : index
  }
  return
}
