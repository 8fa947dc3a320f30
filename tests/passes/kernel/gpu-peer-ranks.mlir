// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../passes/kernel/GpuPeerRanks.mlir | FileCheck %s

// The counters of consecutive GPUs are 2^15 counters apart, and the last counter ends a launch.
// CHECK-LABEL: func.func private @ark_lane_number(
// CHECK: call @ark_sync_ranks
// CHECK: arith.constant 3 : i64
// Field B has the upper half of the index of a counter.
// CHECK-LABEL: func.func private @ark_signal_index(
// CHECK: %[[BITS:.+]] = arith.constant 32 : i64
// CHECK: %[[B:.+]] = arith.extsi %{{.+}} : i32 to i64
// CHECK: %[[UPPER:.+]] = arith.shli %[[B]], %[[BITS]]
// CHECK: %[[INDEX:.+]] = arith.addi %{{.+}}, %[[UPPER]]
// CHECK: return %[[INDEX]]
// CHECK-LABEL: func.func private @ark_add_arrival(
// CHECK: arith.constant 15 : i64
// CHECK: call @ark_add_release
// CHECK: call @ark_add_remote_arrival
// CHECK-LABEL: func.func private @ark_stop_word(
// CHECK: arith.constant 262144 : i64
// CHECK: arith.constant 262136 : i64
// The words of 256 ranks lie before that counter.
// CHECK-LABEL: func.func private @ark_begun_word(
// CHECK: arith.constant 261880 : i64
// No thread goes on before the leader has met the other kernels.
// CHECK-LABEL: func.func private @ark_sync_ranks(
// CHECK: llvm.getelementptr %{{.+}}[14]
// CHECK: call @ark_sync_ranks_as_leader
// CHECK: call @ark_cta_barrier
// CHECK-LABEL: func.func private @ark_sync_ranks_as_leader(
// CHECK: arith.constant 5 : i64
// CHECK: arith.constant 3 : i64
// CHECK: call @ark_store_remote
// CHECK: call @ark_load_from_peers
// CHECK: call @ark_set_if_zero
