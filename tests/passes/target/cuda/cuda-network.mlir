// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../../passes/target/cuda/CudaNetwork.mlir | FileCheck %s

// The functions that allocate local memory are not inlined.
// CHECK-LABEL: func.func private @ark_signal_rank(
// CHECK-SAME: passthrough = ["noinline"]
// A fence makes the results of other SMs visible to the network adapter.
// CHECK: call @ark_release_to_network
// Counters lie 64 bytes apart.
// CHECK: arith.muli %{{.+}}, %c64_i64
// CHECK: llvm.call @ncclGinSignal_v3
// CHECK-LABEL: func.func private @ark_store_to_rank(
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: llvm.call @ncclGinPutValue_v3
// CHECK-LABEL: func.func private @ark_copy_to_rank(
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: call @ark_release_to_network
// CHECK: llvm.call @ncclGinPut_v3
// CHECK-LABEL: func.func private @ark_release_to_network(
// CHECK: llvm.inline_asm has_side_effects "fence.acq_rel.sys;", "~{memory}"
// CHECK-LABEL: func.func private @ark_load_arrivals(
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];", "=l,l,~{memory}"
