// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../../passes/target/packets/CudaPacketWords.mlir | FileCheck %s '-D$SCOPE=gpu'
// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a '--ark-test-kernel-texts=ranks files=%S/../../../../passes/target/packets/CudaPacketWords.mlir' | FileCheck %s '-D$SCOPE=sys'

// One instruction stores or loads a packet. The packets of one rank stay on one GPU. With several ranks, the sender and
// the receiver may be on different GPUs.
// CHECK-LABEL: func.func private @ark_send_packet(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.[[$SCOPE]].global.u32 [$0], $1;", "l,r,~{memory}"
// CHECK-LABEL: func.func private @ark_send_wide_packet(
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.[[$SCOPE]].global.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_load_wide_packet(
// CHECK: "ld.relaxed.[[$SCOPE]].global.u64 $0, [$1];"
// CHECK-LABEL: func.func private @ark_load_wide_packets(
// CHECK: "ld.relaxed.[[$SCOPE]].global.v2.u64 {$0, $1}, [$2];"
// CHECK-LABEL: func.func private @ark_load_packet(
// CHECK: "ld.relaxed.[[$SCOPE]].global.u32 $0, [$1];"
// CHECK-LABEL: func.func private @ark_load_two_packets(
// CHECK: "ld.relaxed.[[$SCOPE]].global.v2.u32 {$0, $1}, [$2];"
// CHECK-LABEL: func.func private @ark_load_packets(
// CHECK: "ld.relaxed.[[$SCOPE]].global.v4.u32 {$0, $1, $2, $3}, [$4];"
// CHECK-LABEL: func.func private @ark_any_of_warp(
// CHECK: nvvm.vote.sync any
// CHECK-LABEL: func.func private @ark_warp_size(
// CHECK: arith.constant 32 : index
