// If lanes poll for packets, rings have fewer slots, and a work item sends its packets before it requests the next
// chunks. If a work item reads more chunks than the ring holds, as many further chunks are prefetched to the L2.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-fuse-row-prologues,ark-receive-packets,ark-stream-weights)' | FileCheck %s --check-prefixes=CHECK,FOUR
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-fuse-row-prologues,ark-receive-packets,ark-stream-weights{polling-depth=3})' | FileCheck %s --check-prefixes=CHECK,THREE

// CHECK-LABEL: ark.kernel @chain
// CHECK: func.func private @ark_end_work_item()
// CHECK-NEXT: call @ark_stream_end_work_item
// CHECK: func.func private @ark_stream_polls() -> i32
// CHECK-NEXT: arith.constant 1 : i32
// CHECK: func.func private @ark_stream_depth() -> i32
// FOUR-NEXT: arith.constant 4 : i32
// THREE-NEXT: arith.constant 3 : i32
// The work items are short, so no chunks remain for the L2.
// CHECK: func.func private @ark_stream_prefetch_depth() -> i32
// CHECK-NEXT: arith.constant 0 : i32
ark.program @chain(%x: tensor<1x2048xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<2048x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %w: tensor<2048x2048xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x2048xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %v {transpose_other} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
  ark.return %1 : tensor<1x2048xbf16>
}

// -----

// CHECK-LABEL: ark.kernel @long
// CHECK: func.func private @ark_stream_poll()
// CHECK: call @ark_stream_prefetch_beyond()
// CHECK: func.func private @ark_stream_prefetch_depth() -> i32
// FOUR-NEXT: arith.constant 4 : i32
// THREE-NEXT: arith.constant 3 : i32
// CHECK: func.func private @ark_stream_prefetch_beyond() -> i1
// CHECK: nvvm.cp.async.bulk.prefetch
ark.program @long(%x: tensor<1x8192xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<8192x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %w: tensor<8192x8192xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"}) -> (tensor<1x8192xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %v {transpose_other} : (tensor<1x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<1x8192xbf16>
  %1 = ark.matmul %0, %w {transpose_other} : (tensor<1x8192xbf16>, tensor<8192x8192xbf16>) -> tensor<1x8192xbf16>
  ark.return %1 : tensor<1x8192xbf16>
}
