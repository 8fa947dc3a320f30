// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/packets/CudaPackets.mlir | FileCheck %s

// A packet is stored as one word, and its tag is in the upper half.
// CHECK-LABEL: func.func private @ark_packets_begin(
// CHECK: arith.constant 4 : i32
// CHECK-LABEL: func.func private @ark_packets_run(
// CHECK: arith.constant 1 : i32
// CHECK-LABEL: func.func private @ark_packet_tag(
// CHECK: arith.constant 16 : i32
// CHECK-LABEL: func.func private @ark_send_packet(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u32 [$0], $1;", "l,r,~{memory}"
// CHECK-LABEL: func.func private @ark_miss_packets(
// CHECK: arith.constant 65536 : i32
