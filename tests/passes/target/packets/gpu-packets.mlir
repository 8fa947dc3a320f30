// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/packets/GpuPackets.mlir | FileCheck %s

// The tag of a packet is in its upper half.
// CHECK-LABEL: func.func private @ark_packets_begin(
// CHECK: arith.constant 4 : i32
// CHECK-LABEL: func.func private @ark_packets_begin_work_item(
// CHECK: arith.constant 1 : i32
// CHECK-LABEL: func.func private @ark_packet_tag(
// CHECK: arith.constant 16 : i32
// CHECK-LABEL: func.func private @ark_is_packet_stale(
// CHECK: arith.constant 65536 : i32
// CHECK-LABEL: func.func private @ark_are_two_packets_stale(
// CHECK: arith.constant 65536 : i32
// CHECK-LABEL: func.func private @ark_are_packets_stale(
// CHECK: arith.constant 65536 : i32
