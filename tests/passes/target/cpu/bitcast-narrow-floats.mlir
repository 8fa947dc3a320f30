// RUN: ark-opt %s --ark-bitcast-narrow-floats | FileCheck %s
// RUN: ark-opt %s --ark-bitcast-narrow-floats --canonicalize | FileCheck %s --check-prefix=FOLDED

// Floats that are only moved become integers.
// CHECK-LABEL: llvm.func @copy
// CHECK-NEXT: %[[BITS:.+]] = llvm.load %{{.+}} {alignment = 2 : i64} : !llvm.ptr -> i16
// CHECK-NEXT: %[[X:.+]] = llvm.bitcast %[[BITS]] : i16 to bf16
// CHECK-NEXT: %[[OUT:.+]] = llvm.bitcast %[[X]] : bf16 to i16
// CHECK-NEXT: llvm.store %[[OUT]], %{{.+}} : i16, !llvm.ptr
// FOLDED-LABEL: llvm.func @copy
// FOLDED-NEXT: %[[BITS:.+]] = llvm.load
// FOLDED-NEXT: llvm.store %[[BITS]]
llvm.func @copy(%a: !llvm.ptr, %b: !llvm.ptr) {
  %0 = llvm.load %a {alignment = 2 : i64} : !llvm.ptr -> bf16
  llvm.store %0, %b : bf16, !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @vectors
// CHECK: llvm.load %{{.+}} : !llvm.ptr -> vector<8xi16>
// CHECK: %[[X:.+]] = llvm.bitcast %{{.+}} : vector<8xi16> to vector<8xf16>
// CHECK: %[[SUM:.+]] = llvm.fadd %[[X]], %[[X]] : vector<8xf16>
// CHECK: llvm.bitcast %[[SUM]] : vector<8xf16> to vector<8xi16>
// CHECK: llvm.store %{{.+}}, %{{.+}} : vector<8xi16>, !llvm.ptr
llvm.func @vectors(%a: !llvm.ptr, %b: !llvm.ptr) {
  %0 = llvm.load %a : !llvm.ptr -> vector<8xf16>
  %1 = llvm.fadd %0, %0 : vector<8xf16>
  llvm.store %1, %b : vector<8xf16>, !llvm.ptr
  llvm.return
}

// The last vectors of weight panels are masked.
// CHECK-LABEL: llvm.func @masked
// CHECK-SAME: %[[REST:[a-z0-9]+]]: vector<4xbf16>
// CHECK: %[[REST_BITS:.+]] = llvm.bitcast %[[REST]] : vector<4xbf16> to vector<4xi16>
// CHECK: %[[BITS:.+]] = llvm.intr.masked.load %{{.+}}, %{{.+}}, %[[REST_BITS]] {{.+}} -> vector<4xi16>
// CHECK: llvm.intr.masked.store %{{.+}}, %{{.+}}, %{{.+}} : vector<4xi16>, vector<4xi1> into !llvm.ptr
llvm.func @masked(%a: !llvm.ptr, %b: !llvm.ptr, %m: vector<4xi1>, %rest: vector<4xbf16>) {
  %0 = llvm.intr.masked.load %a, %m, %rest {alignment = 2 : i32} : (!llvm.ptr, vector<4xi1>, vector<4xbf16>) -> vector<4xbf16>
  llvm.intr.masked.store %0, %b, %m {alignment = 2 : i32} : vector<4xbf16>, vector<4xi1> into !llvm.ptr
  llvm.return
}

// CHECK-LABEL: llvm.func @otherTypes
// CHECK-NEXT: %[[X:.+]] = llvm.load %{{.+}} : !llvm.ptr -> f32
// CHECK-NEXT: llvm.store %[[X]], %{{.+}} : f32, !llvm.ptr
// CHECK-NEXT: %[[I:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i16
// CHECK-NEXT: llvm.store %[[I]], %{{.+}} : i16, !llvm.ptr
// CHECK-NEXT: llvm.return
llvm.func @otherTypes(%a: !llvm.ptr, %b: !llvm.ptr) {
  %0 = llvm.load %a : !llvm.ptr -> f32
  llvm.store %0, %b : f32, !llvm.ptr
  %1 = llvm.load %a : !llvm.ptr -> i16
  llvm.store %1, %b : i16, !llvm.ptr
  llvm.return
}
