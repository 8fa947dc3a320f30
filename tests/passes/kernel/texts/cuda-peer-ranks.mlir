// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/kernel/CudaPeerRanks.mlir | FileCheck %s

// The counters of consecutive GPUs are 2^15 counters apart, and the last counter ends a launch.
// CHECK-LABEL: func.func private @ark_lane_number(
// CHECK: arith.constant 3 : i64
// CHECK-LABEL: func.func private @ark_add_arrival(
// CHECK: arith.constant 15 : i64
// CHECK: call @ark_add_release
// CHECK: llvm.inline_asm has_side_effects "red.release.sys.add.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_stop_word(
// CHECK: arith.constant 262144 : i64
// CHECK: arith.constant 262136 : i64
