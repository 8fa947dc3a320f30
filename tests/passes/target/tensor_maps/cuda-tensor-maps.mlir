// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-test-kernel-texts=files=%S/../../../../passes/target/tensor_maps/CudaTensorMaps.mlir | FileCheck %s

// A lane builds maps of 128 bytes from records of six words.
// CHECK-LABEL: func.func private @ark_tensor_maps_of(
// CHECK: arith.constant 128 : i64
// CHECK-LABEL: func.func private @ark_make_tensor_maps(
// CHECK: arith.constant 32 : i64
// CHECK: arith.constant 6 : i64
// CHECK: tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned
// CHECK: nvvm.fence.proxy.acquire
// CHECK: gpu.barrier
