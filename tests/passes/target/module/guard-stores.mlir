// RUN: ark-opt %s --split-input-file --ark-guard-stores | FileCheck %s

// A load at the address, and a store of the index itself, are no stores at the address.
// CHECK-LABEL: func.func @storeAtTheIndex(
// CHECK-SAME: %[[M:.+]]: memref<8xf32>, %[[N:.+]]: memref<4xindex>, %[[INDEX:.+]]: index, %[[VALUE:.+]]: f32)
// CHECK: %[[BOUND:.+]] = arith.constant 8 : index
// CHECK: %[[INSIDE:.+]] = arith.cmpi ult, %[[INDEX]], %[[BOUND]] : index
// CHECK: %[[ZERO:.+]] = arith.constant 0 : index
// CHECK: %[[VALID:.+]] = arith.select %[[INSIDE]], %[[INDEX]], %[[ZERO]] : index
// CHECK-NEXT: memref.load %[[M]][%[[VALID]]]
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: memref.store %[[VALUE]], %[[M]][%[[VALID]]]
// CHECK-NEXT: }
// CHECK-NEXT: memref.store %[[VALID]], %[[N]]
// CHECK-NEXT: return
func.func @storeAtTheIndex(%m: memref<8xf32>, %n: memref<4xindex>, %index: index, %value: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  %old = memref.load %m[%valid] : memref<8xf32>
  memref.store %value, %m[%valid] : memref<8xf32>
  memref.store %valid, %n[%c0] : memref<4xindex>
  return %old : f32
}

// -----

// The address depends on the index through a view, arithmetic and the start of a loop.
// CHECK-LABEL: func.func @addressesThatDependOnTheIndex(
// CHECK: %[[INSIDE:.+]] = arith.cmpi ult
// CHECK: scf.for
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: memref.store
// CHECK: memref.subview
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: vector.transfer_write
// CHECK: scf.for
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: vector.store
func.func @addressesThatDependOnTheIndex(%m: memref<8x4xf32>, %index: index, %value: vector<4xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  scf.for %i = %c0 to %c4 step %c1 {
    %row = affine.apply affine_map<(d0) -> (d0 floordiv 2)>(%valid)
    memref.store %x, %m[%row, %i] : memref<8x4xf32>
  }
  %view = memref.subview %m[%valid, 0] [1, 4] [1, 1] : memref<8x4xf32> to memref<4xf32, strided<[1], offset: ?>>
  vector.transfer_write %value, %view[%c0] {in_bounds = [true]} : vector<4xf32>, memref<4xf32, strided<[1], offset: ?>>
  scf.for %row = %valid to %c8 step %c1 {
    vector.store %value, %m[%row, %c0] : memref<8x4xf32>, vector<4xf32>
  }
  return
}

// -----

// The number of iterations of a loop does not move the addresses in the loop, and a branch does not either.
// CHECK-LABEL: func.func @otherStoresStay(
// CHECK: scf.for
// CHECK-NEXT: memref.store
// CHECK: %[[IS_FIRST:.+]] = arith.cmpi eq
// CHECK-NEXT: scf.if %[[IS_FIRST]] {
// CHECK-NEXT: memref.store
// CHECK-NOT: scf.if
// CHECK: return
func.func @otherStoresStay(%m: memref<8xf32>, %index: index, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  scf.for %i = %c0 to %valid step %c1 {
    memref.store %x, %m[%i] : memref<8xf32>
  }
  %is_first = arith.cmpi eq, %valid, %c0 : index
  scf.if %is_first {
    memref.store %x, %m[%c1] : memref<8xf32>
  }
  return
}

// -----

// A store at two indices is executed only if both are valid.
// CHECK-LABEL: func.func @twoIndices(
// CHECK-SAME: %[[M:[^ ]+]]: memref<8x4xf32>, %[[I:[^ ]+]]: index, %[[J:[^ ]+]]: index
// CHECK-DAG: %[[I_INSIDE:.+]] = arith.cmpi ult, %[[I]], %
// CHECK-DAG: %[[J_INSIDE:.+]] = arith.cmpi ult, %[[J]], %
// CHECK: scf.if %[[I_INSIDE]] {
// CHECK-NEXT: scf.if %[[J_INSIDE]] {
// CHECK-NEXT: memref.store
func.func @twoIndices(%m: memref<8x4xf32>, %i: index, %j: index, %x: f32) {
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %row = ark.store_index %i below %c8
  %column = ark.store_index %j below %c4
  memref.store %x, %m[%row, %column] : memref<8x4xf32>
  return
}

// -----

// A store is guarded by the comparison of its own index, in the region of the index as well.
// CHECK-LABEL: func.func @indexOfAnIteration(
// CHECK: scf.for %[[I:.+]] = %
// CHECK: %[[INSIDE:.+]] = arith.cmpi ult, %[[I]], %
// CHECK: scf.if %[[INSIDE]] {
// CHECK-NEXT: memref.store
func.func @indexOfAnIteration(%m: memref<8xf32>, %x: f32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c16 = arith.constant 16 : index
  scf.for %i = %c0 to %c16 step %c1 {
    %valid = ark.store_index %i below %c8
    memref.store %x, %m[%valid] : memref<8xf32>
  }
  return
}

// -----

// A function that gets the index as a number cannot write at it.
// CHECK-LABEL: func.func @callWithTheIndex(
// CHECK: %[[VALID:.+]] = arith.select
// CHECK-NEXT: call @report(%[[VALID]])
func.func private @report(index)
func.func @callWithTheIndex(%index: index) {
  %c8 = arith.constant 8 : index
  %valid = ark.store_index %index below %c8
  func.call @report(%valid) : (index) -> ()
  return
}
