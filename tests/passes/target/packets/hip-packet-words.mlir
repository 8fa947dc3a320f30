// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 --ark-test-kernel-texts=files=%S/../../../../passes/target/packets/HipPacketWords.mlir | FileCheck %s '-D$SCOPE="agent"'
// RUN: ark-opt %s --ark-assign-target=target=hip:gfx942 '--ark-test-kernel-texts=ranks files=%S/../../../../passes/target/packets/HipPacketWords.mlir' | FileCheck %s '-D$SCOPE=""'

// Relaxed atomic accesses of 32 or 64 bits. The empty name is the scope of the system.
// CHECK-LABEL: func.func private @ark_send_packet(
// CHECK: llvm.store %{{.+}} atomic syncscope([[$SCOPE]]) monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
// CHECK-LABEL: func.func private @ark_send_wide_packet(
// CHECK: llvm.store %{{.+}} atomic syncscope([[$SCOPE]]) monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
// CHECK-LABEL: func.func private @ark_load_wide_packet(
// CHECK: llvm.load %{{.+}} atomic syncscope([[$SCOPE]]) monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK-LABEL: func.func private @ark_load_wide_packets(
// CHECK-COUNT-2: call @ark_load_wide_packet(
// CHECK-LABEL: func.func private @ark_load_packet(
// CHECK: llvm.load %{{.+}} atomic syncscope([[$SCOPE]]) monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32

// A load of 64 bits reads two packets: the first one is the lower half.
// CHECK-LABEL: func.func private @ark_load_two_packets(
// CHECK: %[[BOTH:.+]] = call @ark_load_wide_packet(
// CHECK: %[[A:.+]] = arith.trunci %[[BOTH]]
// CHECK: %[[UPPER:.+]] = arith.shrui %[[BOTH]]
// CHECK: %[[B:.+]] = arith.trunci %[[UPPER]]
// CHECK: return %[[A]], %[[B]]

// No access has 128 bits.
// CHECK-LABEL: func.func private @ark_load_packets(
// CHECK-COUNT-2: call @ark_load_two_packets(
// CHECK-NOT: vector

// CHECK-LABEL: func.func private @ark_any_of_warp(
// CHECK: rocdl.ballot %{{.+}} : i64
// CHECK-LABEL: func.func private @ark_warp_size(
// CHECK: arith.constant 64 : index
