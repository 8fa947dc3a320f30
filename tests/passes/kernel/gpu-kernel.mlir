// RUN: ark-opt %s --ark-test-kernel-texts=files=%S/../../../passes/kernel/GpuKernel.mlir | FileCheck %s

// The text has the order of the callbacks at the start of a lane. The scratch space of tensor maps may overlap
// the state of packets, so the callback of tensor maps comes first.
// CHECK-LABEL: func.func @ark_kernel(
// CHECK-SAME: %[[CONTEXT:.+]]: !llvm.ptr, %[[CTA:.+]]: i64)
// CHECK: llvm.getelementptr %{{.+}}[7]
// CHECK: llvm.getelementptr %{{.+}}[8]
// Tensor maps belong to a CTA of this GPU, packets and rings to a lane among those of all GPUs.
// CHECK: %[[LANE:.+]] = call @ark_lane_number(%[[CONTEXT]], %[[CTA]])
// CHECK-NEXT: call @ark_begin_tensor_maps(%[[CONTEXT]], %[[CTA]],
// CHECK-NEXT: call @ark_begin_packets(%[[CONTEXT]], %[[LANE]],
// CHECK-NEXT: call @ark_begin_stream(%[[CONTEXT]], %[[LANE]],
// CHECK: cf.switch %{{.+}} : i32, [
// CHECK-NEXT: default:
// CHECK-NEXT: 0:
// CHECK-NEXT: 1:
// CHECK-NEXT: 2:
// CHECK-NEXT: 3:
// CHECK-NEXT: 5:
// CHECK-NEXT: ]
// CHECK: %[[COUNTER:.+]] = call @ark_signal_index(
// CHECK-NEXT: call @ark_signal(%[[CONTEXT]], %[[COUNTER]])
// CHECK-LABEL: func.func private @ark_instruction(
// CHECK: arith.constant 4 : i64
// CHECK: llvm.getelementptr %{{.+}}[1]
// CHECK-LABEL: func.func private @ark_report_index(
// CHECK: call @ark_set_if_zero
