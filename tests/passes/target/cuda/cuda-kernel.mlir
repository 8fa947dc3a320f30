// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../../passes/target/cuda/CudaKernel.mlir | FileCheck %s

// PTX states the order and the scope of memory accesses.
// CHECK-LABEL: func.func private @ark_load_acquire(
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.gpu.u64 $0, [$1];", "=l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_add_release(
// CHECK: llvm.inline_asm has_side_effects "red.release.gpu.add.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_set_if_zero(
// CHECK: llvm.inline_asm has_side_effects "atom.relaxed.gpu.cas.b64 $0, [$1], $2, $3;"
// CHECK-LABEL: func.func private @ark_load_host(
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];"
