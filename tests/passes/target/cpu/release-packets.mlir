// RUN: ark-opt %s --ark-release-packets | FileCheck %s

// The pass follows any chain of address computations, and changes no other store.
// CHECK-LABEL: llvm.func @put
// CHECK-SAME: {ark.packets, llvm.noalias}
// CHECK: llvm.store %{{.+}}, %{{.+}} atomic release {alignment = 8 : i64} : i64, !llvm.ptr
// CHECK: llvm.store %{{.+}}, %{{.+}} : i64, !llvm.ptr
llvm.func @put(%x: i64, %q: !llvm.ptr, %p: !llvm.ptr {ark.packets, llvm.noalias}) {
  %0 = llvm.getelementptr %p[64] : (!llvm.ptr) -> !llvm.ptr, i8
  %1 = llvm.getelementptr %0[%x] : (!llvm.ptr, i64) -> !llvm.ptr, i64
  llvm.store %x, %1 : i64, !llvm.ptr
  llvm.store %x, %q : i64, !llvm.ptr
  llvm.return
}
