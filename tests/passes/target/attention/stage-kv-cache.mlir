// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stage-kv-cache)' | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stage-kv-cache{max-bytes=4608})' | FileCheck %s
// Two stages of 16 x 72 elements have 4608 bytes.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stage-kv-cache{max-bytes=4607})' | FileCheck %s --check-prefix=NONE
// No weights pass through rings before sm_90, and lanes that wait for semaphores receive no packets.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_86 --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stage-kv-cache)' | FileCheck %s --check-prefix=NONE
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stage-kv-cache)' | FileCheck %s --check-prefix=NONE
// Ops of the attention that compute what they write to the cache are no copies of rows.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | sed 's/linalg.copy/linalg.negf/' | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stage-kv-cache)' | FileCheck %s --check-prefix=COMPUTED
// A barrier follows the wait also if no op updates the stages: threads read what other threads have copied.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-packets --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stage-kv-cache,ark-flash-attention,ark-receive-packets,ark-fuse-element-ops,ark-bodies-to-loops,func.func(convert-linalg-to-parallel-loops),ark-map-to-threads)' | FileCheck %s --check-prefix=BARRIER

// BARRIER-LABEL: ark.kernel @separate
// BARRIER-LABEL: func.func private @body_partial_attention(
// BARRIER: call @ark_await_rows
// BARRIER-NOT: vector.load
// BARRIER: gpu.barrier
// BARRIER: nvvm.mma.sync

// COMPUTED-LABEL: ark.kernel @partitions
// COMPUTED-LABEL: func.func private @body_update_update_partial_attention(
// COMPUTED-NOT: ark_stage_bf16
// COMPUTED: ark.online_attention
// COMPUTED-NOT: ark_stage_bf16
// COMPUTED-LABEL: ark.kernel @separate

// NONE-NOT: ark_stage_bf16
// NONE-NOT: ark_await_rows

// Each of ten partitions has every tenth of 160 keys. The copies begin before the polls, and end before the new rows
// are written to the stages. The attention reads stages only.
// CHECK-LABEL: func.func private @body_update_update_partial_attention(
// CHECK: %[[VALUES:.+]] = memref.alloca() {{.*}} : memref<16x72xbf16>
// CHECK: %[[KEYS:.+]] = memref.alloca() {{.*}} : memref<16x72xbf16>
// CHECK: scf.for
// CHECK: %[[LENGTH:.+]] = arith.minsi %{{.+}}, %c16
// CHECK: call @ark_stage_bf16_16_64_640(%{{.+}}, %[[LENGTH]], %[[KEYS]]) {ark.cta_collective = 1 : i64}
// CHECK: call @ark_stage_bf16_16_64_640(%{{.+}}, %[[LENGTH]], %[[VALUES]]) {ark.cta_collective = 1 : i64}
// CHECK: ark.receive_packets
// CHECK: ark.receive_packets
// CHECK: call @ark_await_rows(%{{.+}}, %{{.+}}) {ark.cta_collective = 2 : i64}
// CHECK: linalg.generic {{.*}} outs(%{{.+}} : memref<?x64xbf16, strided<[640, 1], offset: ?>>)
// CHECK: %[[NEW_KEY:.+]] = memref.subview %[[KEYS]][%[[ROW:.+]], 0] [%[[COUNT:.+]], 64] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%[[NEW_KEY]] :
// CHECK: linalg.generic {{.*}} outs(%{{.+}} : memref<?x64xbf16, strided<[640, 1], offset: ?>>)
// CHECK: %[[NEW_VALUE:.+]] = memref.subview %[[VALUES]][%[[ROW]], 0] [%[[COUNT]], 64] [1, 1]
// CHECK: linalg.generic {{.*}} outs(%[[NEW_VALUE]] :
// CHECK: %[[ALL_KEYS:.+]] = memref.subview %[[KEYS]][0, 0] [%[[LENGTH]], 64] [1, 1]
// CHECK: %[[ALL_VALUES:.+]] = memref.subview %[[VALUES]][0, 0] [%[[LENGTH]], 64] [1, 1]
// CHECK: ark.online_attention ins(%{{.+}}, %[[ALL_KEYS]], %[[ALL_VALUES]] :

// A row of 128 bytes has eight copies. Rows of a stage have a distance of 144 bytes.
// CHECK-LABEL: func.func private @ark_stage_bf16_16_64_640(
// CHECK: %[[OWN:.+]] = arith.addi %{{.+}}, %c0
// CHECK: scf.if
// CHECK: %[[INDEX:.+]] = arith.divui %[[OWN]], %c8
// CHECK: arith.muli %[[INDEX]], %c144
// CHECK: arith.muli %[[INDEX]], %c1280
// CHECK: nvvm.cp.async.shared.global %{{.+}}, %{{.+}}, 16, cache = cg
// CHECK-NOT: scf.if
// CHECK: nvvm.cp.async.commit.group
// CHECK-LABEL: func.func private @ark_await_rows(
// CHECK-NEXT: nvvm.cp.async.wait.group 0
ark.program @partitions(%x: tensor<1x256xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %wq: tensor<256x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wq"},
    %wk: tensor<128x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wk"},
    %keys: tensor<1x2x160x64xbf16> {ark.kind = #ark.kind<state>, ark.name = "keys"},
    %values: tensor<1x2x160x64xbf16> {ark.kind = #ark.kind<state>, ark.name = "values"},
    %p: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "p"},
    %n: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "n"}) -> (tensor<1x4x1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %wq {transpose_other} : (tensor<1x256xbf16>, tensor<256x256xbf16>) -> tensor<1x256xbf16>
  %q = ark.reshape %0 shape = [1, 4, 1, 64] : (tensor<1x256xbf16>) -> tensor<1x4x1x64xbf16>
  %1 = ark.matmul %x, %wk {transpose_other} : (tensor<1x256xbf16>, tensor<128x256xbf16>) -> tensor<1x128xbf16>
  %k = ark.reshape %1 shape = [1, 2, 1, 64] : (tensor<1x128xbf16>) -> tensor<1x2x1x64xbf16>
  %ks = ark.update %k into %keys [0, 0, %p, 0] : (tensor<1x2x160x64xbf16>, tensor<1x2x1x64xbf16>, tensor<i32>) -> tensor<1x2x160x64xbf16>
  %vs = ark.update %k into %values [0, 0, %p, 0] : (tensor<1x2x160x64xbf16>, tensor<1x2x1x64xbf16>, tensor<i32>) -> tensor<1x2x160x64xbf16>
  %y = ark.attention %q, %ks, %vs kv_length %n scale = 1.25e-1 : (tensor<1x4x1x64xbf16>, tensor<1x2x160x64xbf16>, tensor<1x2x160x64xbf16>, tensor<i32>) -> tensor<1x4x1x64xbf16>
  ark.return %y : tensor<1x4x1x64xbf16>
}

// -----

// Another task writes the new keys: no op of the attention replaces what the copies have brought.
// CHECK-LABEL: ark.kernel @separate
// CHECK-LABEL: func.func private @body_partial_attention(
// CHECK-COUNT-2: call @ark_stage_bf16_16_64_640
// CHECK: ark.receive_packets
// CHECK: call @ark_await_rows(%{{.+}}, %{{.+}}) {ark.cta_collective = 2 : i64}
// CHECK-NOT: linalg.generic
// CHECK: ark.online_attention
ark.program @separate(%x: tensor<1x256xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %wq: tensor<256x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wq"},
    %wk: tensor<64x256xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wk"},
    %keys: tensor<1x2x160x64xbf16> {ark.kind = #ark.kind<state>, ark.name = "keys"},
    %p: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "p"},
    %n: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "n"}) -> (tensor<1x4x1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %wq {transpose_other} : (tensor<1x256xbf16>, tensor<256x256xbf16>) -> tensor<1x256xbf16>
  %q = ark.reshape %0 shape = [1, 4, 1, 64] : (tensor<1x256xbf16>) -> tensor<1x4x1x64xbf16>
  %1 = ark.matmul %x, %wk {transpose_other} : (tensor<1x256xbf16>, tensor<64x256xbf16>) -> tensor<1x64xbf16>
  %k = ark.reshape %1 shape = [1, 2, 1, 32] : (tensor<1x64xbf16>) -> tensor<1x2x1x32xbf16>
  %ks = ark.update %k into %keys [0, 0, %p, 32] : (tensor<1x2x160x64xbf16>, tensor<1x2x1x32xbf16>, tensor<i32>) -> tensor<1x2x160x64xbf16>
  %y = ark.attention %q, %ks, %ks kv_length %n scale = 1.25e-1 : (tensor<1x4x1x64xbf16>, tensor<1x2x160x64xbf16>, tensor<1x2x160x64xbf16>, tensor<i32>) -> tensor<1x4x1x64xbf16>
  ark.return %y : tensor<1x4x1x64xbf16>
}

// -----

// Rows of weights with 128 bytes pass through the L1.
// CHECK-LABEL: ark.kernel @narrow
// CHECK: ark.online_attention
// CHECK-NOT: ark_stage_bf16
ark.program @narrow(%x: tensor<1x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %wq: tensor<256x64xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wq"},
    %keys: tensor<1x2x160x64xbf16> {ark.kind = #ark.kind<state>, ark.name = "keys"},
    %n: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "n"}) -> (tensor<1x4x1x64xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %wq {transpose_other} : (tensor<1x64xbf16>, tensor<256x64xbf16>) -> tensor<1x256xbf16>
  %q = ark.reshape %0 shape = [1, 4, 1, 64] : (tensor<1x256xbf16>) -> tensor<1x4x1x64xbf16>
  %y = ark.attention %q, %keys, %keys kv_length %n scale = 1.25e-1 : (tensor<1x4x1x64xbf16>, tensor<1x2x160x64xbf16>, tensor<1x2x160x64xbf16>, tensor<i32>) -> tensor<1x4x1x64xbf16>
  ark.return %y : tensor<1x4x1x64xbf16>
}

// -----

// Beside rings with slots of 2560 bytes, 16 heads of each key leave no room for 160 keys.
// CHECK-LABEL: ark.kernel @rings
// CHECK: ark.online_attention
// CHECK-NOT: ark_stage_bf16
ark.program @rings(%x: tensor<1x2560xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %wq: tensor<2048x2560xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "wq"},
    %keys: tensor<1x2x160x128xbf16> {ark.kind = #ark.kind<state>, ark.name = "keys"},
    %n: tensor<i32> {ark.kind = #ark.kind<input>, ark.name = "n"}) -> (tensor<1x16x1x128xbf16> {ark.name = "y"}) {
  %0 = ark.matmul %x, %wq {transpose_other} : (tensor<1x2560xbf16>, tensor<2048x2560xbf16>) -> tensor<1x2048xbf16>
  %q = ark.reshape %0 shape = [1, 16, 1, 128] : (tensor<1x2048xbf16>) -> tensor<1x16x1x128xbf16>
  %y = ark.attention %q, %keys, %keys kv_length %n scale = 1.25e-1 : (tensor<1x16x1x128xbf16>, tensor<1x2x160x128xbf16>, tensor<1x2x160x128xbf16>, tensor<i32>) -> tensor<1x16x1x128xbf16>
  ark.return %y : tensor<1x16x1x128xbf16>
}
