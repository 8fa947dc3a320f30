// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../../passes/target/packets/CudaPacketWords.mlir | FileCheck %s

// One instruction stores or loads a packet. The packets of one rank stay on one GPU.
// CHECK-LABEL: func.func private @ark_send_packet(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u32 [$0], $1;", "l,r,~{memory}"
// CHECK-LABEL: func.func private @ark_send_wide_packet(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_load_wide_packets(
// CHECK: "ld.relaxed.gpu.global.v2.u64 {$0, $1}, [$2];"
// CHECK-LABEL: func.func private @ark_load_packets(
// CHECK: "ld.relaxed.gpu.global.v4.u32 {$0, $1, $2, $3}, [$4];"
