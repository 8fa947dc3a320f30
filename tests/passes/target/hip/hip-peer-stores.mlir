// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-test-kernel-texts=files=%S/../../../../passes/target/hip/HipPeerStores.mlir | FileCheck %s

// Accesses between GPUs have no `syncscope`, so their scope is the system.
// CHECK-LABEL: func.func private @ark_remote_stop_word(
// CHECK: call @ark_stop_word
// A signal writes the L2 back and waits before it adds.
// CHECK-LABEL: func.func private @ark_add_remote_arrival(
// CHECK: llvm.fence release
// CHECK-NEXT: rocdl.s.waitcnt 3952
// CHECK: llvm.atomicrmw add %{{.+}}, %{{.+}} monotonic : !llvm.ptr<1>, i64
// CHECK-LABEL: func.func private @ark_store_remote(
// CHECK: llvm.store %{{.+}}, %{{.+}} atomic monotonic {alignment = 8 : i64}
// CHECK-LABEL: func.func private @ark_load_arrivals(
// CHECK: llvm.load %{{.+}} atomic acquire {alignment = 8 : i64}
// CHECK-LABEL: func.func private @ark_load_from_peers(
// CHECK: llvm.load %{{.+}} atomic monotonic {alignment = 8 : i64}
// CHECK-NOT: syncscope
