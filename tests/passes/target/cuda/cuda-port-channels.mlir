// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../../passes/target/cuda/CudaPortChannels.mlir | FileCheck %s

// A lane takes a position after it has seen a free slot, and writes the slot without a wait. The
// tail that another lane has read from the host is acquired.
// CHECK-LABEL: func.func private @ark_push_trigger(
// CHECK-SAME: passthrough = ["noinline"]
// CHECK: call @ark_load_relaxed
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.gpu.u64 $0, [$1];", "=l,l,~{memory}"
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];", "=l,l,~{memory}"
// CHECK: llvm.inline_asm has_side_effects "st.release.gpu.u64 [$0], $1;", "l,l,~{memory}"
// An abort ends the wait for a slot.
// CHECK: call @ark_load_relaxed
// CHECK: llvm.inline_asm has_side_effects "atom.relaxed.gpu.cas.b64 $0, [$1], $2, $3;"
// CHECK: call @ark_write_trigger
// The word that the proxy polls is the last one.
// CHECK-LABEL: func.func private @ark_write_trigger(
// CHECK: llvm.store %{{.+}}, %{{.+}} : i64, !llvm.ptr
// CHECK: llvm.inline_asm has_side_effects "st.release.sys.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_put(
// CHECK: call @ark_push_trigger
// A signal has kind 2 from bit 50 on, and its semaphore from bit 53 on.
// CHECK-LABEL: func.func private @ark_signal_rank(
// CHECK: arith.constant 2 : i64
// CHECK: arith.constant 50 : i64
// CHECK: arith.constant 53 : i64
// CHECK: call @ark_push_trigger
// A word is stored in the own window, and copied from there.
// CHECK-LABEL: func.func private @ark_store_to_rank(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.gpu.u64 [$0], $1;", "l,l,~{memory}"
// CHECK: call @ark_put
// CHECK-LABEL: func.func private @ark_copy_to_rank(
// CHECK: call @ark_put
// Tokens stand for a counter with a list.
// CHECK-LABEL: func.func private @ark_load_arrivals(
// CHECK: llvm.getelementptr %{{.+}}[1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: llvm.icmp "ne"
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];", "=l,l,~{memory}"
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];", "=l,l,~{memory}"
