// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../../passes/target/cuda/CudaDomains.mlir | FileCheck %s

// An address has the rank plus one from bit 48 on.
// CHECK-LABEL: func.func private @ark_split_address(
// CHECK: arith.constant 48 : i64
// An upper half of an index below -2^31 + 2^8 names a rank.
// CHECK-LABEL: func.func private @ark_split_index(
// CHECK: arith.constant -2147483648 : i64
// CHECK: arith.constant -2147483392 : i64
// CHECK: arith.constant 32 : i64
// CHECK: %[[DISTANCE:.+]] = arith.shrsi %{{.+}}
// CHECK: arith.cmpi slt, %[[DISTANCE]]
// GPUs of the same domain store to each other's memory.
// CHECK-LABEL: func.func private @ark_add_remote_arrival(
// CHECK: llvm.inline_asm has_side_effects "red.release.sys.add.u64 [$0], $1;", "l,l,~{memory}"
// CHECK: call @ark_signal_rank
// CHECK-LABEL: func.func private @ark_store_remote(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.sys.u64 [$0], $1;", "l,l,~{memory}"
// CHECK: call @ark_store_to_rank
// CHECK-LABEL: func.func private @ark_remote_stop_word(
// CHECK: call @ark_stop_word
// CHECK-LABEL: func.func private @ark_copy_to_domain(
// CHECK: call @ark_is_leader_again
// CHECK: call @ark_copy_to_rank
// CHECK-LABEL: func.func private @ark_load_from_peers(
// CHECK: llvm.inline_asm has_side_effects "ld.relaxed.sys.u64 $0, [$1];", "=l,l,~{memory}"
