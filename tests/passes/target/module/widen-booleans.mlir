// RUN: ark-opt %s --ark-widen-booleans | FileCheck %s

// A load treats every byte but zero as true.
// CHECK-LABEL: llvm.func @load
// CHECK-SAME: (%[[P:.+]]: !llvm.ptr)
// CHECK-NEXT: %[[BYTE:.+]] = llvm.load %[[P]] {alignment = 1 : i64} : !llvm.ptr -> i8
// CHECK-NEXT: %[[ZERO:.+]] = llvm.mlir.zero : i8
// CHECK-NEXT: %[[BIT:.+]] = llvm.icmp "ne" %[[BYTE]], %[[ZERO]] : i8
// CHECK-NEXT: llvm.return %[[BIT]] : i1
llvm.func @load(%p: !llvm.ptr) -> i1 {
  %0 = llvm.load %p : !llvm.ptr -> i1
  llvm.return %0 : i1
}

// A store writes true as 1, as the host expects.
// CHECK-LABEL: llvm.func @store
// CHECK-SAME: (%[[BIT:.+]]: i1, %[[P:.+]]: !llvm.ptr)
// CHECK-NEXT: %[[BYTE:.+]] = llvm.zext %[[BIT]] : i1 to i8
// CHECK-NEXT: llvm.store %[[BYTE]], %[[P]] {alignment = 1 : i64} : i8, !llvm.ptr
// CHECK-NEXT: llvm.return
llvm.func @store(%bit: i1, %p: !llvm.ptr) {
  llvm.store %bit, %p : i1, !llvm.ptr
  llvm.return
}

// LLVM would load and store two bytes of packed bits.
// CHECK-LABEL: llvm.func @vectors
// CHECK-SAME: (%[[P:.+]]: !llvm.ptr)
// CHECK-NEXT: %[[BYTES:.+]] = llvm.load %[[P]] {alignment = 16 : i64} : !llvm.ptr -> vector<16xi8>
// CHECK-NEXT: %[[ZERO:.+]] = llvm.mlir.zero : vector<16xi8>
// CHECK-NEXT: %[[BITS:.+]] = llvm.icmp "ne" %[[BYTES]], %[[ZERO]] : vector<16xi8>
// CHECK-NEXT: %[[STORED:.+]] = llvm.zext %[[BITS]] : vector<16xi1> to vector<16xi8>
// CHECK-NEXT: llvm.store %[[STORED]], %[[P]] {alignment = 16 : i64} : vector<16xi8>, !llvm.ptr
// CHECK-NEXT: llvm.return
llvm.func @vectors(%p: !llvm.ptr) {
  %0 = llvm.load %p {alignment = 16 : i64} : !llvm.ptr -> vector<16xi1>
  llvm.store %0, %p {alignment = 16 : i64} : vector<16xi1>, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @otherTypesStay
// CHECK-NEXT: %[[V:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i8
// CHECK-NEXT: %[[BYTES:.+]] = llvm.load %{{.+}} : !llvm.ptr -> vector<8xi8>
// CHECK-NEXT: llvm.store %[[V]], %{{.+}} : i8, !llvm.ptr
// CHECK-NEXT: llvm.return %[[BYTES]]
llvm.func @otherTypesStay(%p: !llvm.ptr) -> vector<8xi8> {
  %0 = llvm.load %p : !llvm.ptr -> i8
  %1 = llvm.load %p : !llvm.ptr -> vector<8xi8>
  llvm.store %0, %p : i8, !llvm.ptr
  llvm.return %1 : vector<8xi8>
}
