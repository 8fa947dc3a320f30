// RUN: ark-opt %s --split-input-file --ark-release-packets --verify-diagnostics

// A reader could take the packet of the first store for the final one.
// expected-error @below {{does not write its packets with a single store of 64 bits}}
llvm.func @twice(%x: i64, %p: !llvm.ptr {ark.packets}) {
  llvm.store %x, %p : i64, !llvm.ptr
  llvm.store %x, %p : i64, !llvm.ptr
  llvm.return
}

// -----

// A store of 32 bits writes half of a packet.
// expected-error @below {{does not write its packets with a single store of 64 bits}}
llvm.func @half(%x: i32, %p: !llvm.ptr {ark.packets}) {
  llvm.store %x, %p : i32, !llvm.ptr
  llvm.return
}

// -----

// A declaration has no store.
// expected-error @below {{does not write its packets with a single store of 64 bits}}
llvm.func @declared(i64, !llvm.ptr {ark.packets})
