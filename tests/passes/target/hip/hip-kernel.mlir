// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-test-kernel-texts=files=%S/../../../../passes/target/hip/HipKernel.mlir | FileCheck %s

// LLVM's atomics state the order and the scope of memory accesses; warps have 64 threads.
// CHECK-LABEL: func.func private @ark_load_acquire(
// CHECK: llvm.load %{{.+}} atomic syncscope("agent") acquire
// CHECK-LABEL: func.func private @ark_write_back(
// CHECK: llvm.fence syncscope("agent") release
// CHECK-NEXT: rocdl.s.waitcnt 3952
// CHECK-LABEL: func.func private @ark_any(
// CHECK: arith.constant 64 : i32
// LLVM cannot compare the number of the lane in front of the loop over work items.
// CHECK-LABEL: func.func private @ark_lane(
// CHECK: %[[BLOCK:.+]] = gpu.block_id x
// CHECK-NEXT: %[[KNOWN:.+]] = arith.index_cast %[[BLOCK]] : index to i32
// CHECK-NEXT: %[[LANE:.+]] = llvm.inline_asm has_side_effects "", "=s,0" %[[KNOWN]] : (i32) -> i32
// CHECK-NEXT: arith.extui %[[LANE]] : i32 to i64
