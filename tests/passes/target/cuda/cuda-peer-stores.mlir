// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../../passes/target/cuda/CudaPeerStores.mlir | FileCheck %s

// Signals to other GPUs release with the scope of the system.
// CHECK-LABEL: func.func private @ark_remote_stop_word(
// CHECK: call @ark_stop_word
// CHECK-LABEL: func.func private @ark_add_remote_arrival(
// CHECK: llvm.inline_asm has_side_effects "red.release.sys.add.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_store_remote(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.sys.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_load_arrivals(
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];", "=l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_load_from_peers(
// CHECK: llvm.inline_asm has_side_effects "ld.relaxed.sys.u64 $0, [$1];", "=l,l,~{memory}"
