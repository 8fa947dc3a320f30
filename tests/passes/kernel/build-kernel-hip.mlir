// RUN: ark-opt %s --ark-build-kernel | FileCheck %s --implicit-check-not=nvvm --implicit-check-not='inline_asm has_side_effects "{{[^"]}}' --implicit-check-not=stream_begin_work_item

// The dispatch loop is the same for all GPUs. The primitives of the leader have the memory order and
// the scope that hand-offs between CUs need.
// CHECK-LABEL: func.func private @ark_execute_work_item(
// CHECK: call @ark_mark_global(
// CHECK: call @body(
// CHECK-LABEL: func.func @ark_kernel(%{{.+}}: !llvm.ptr, %{{.+}}: i64) -> i32
// CHECK: %[[FIELD:.+]] = vector.extract %{{.+}}[0]
// CHECK-NEXT: %[[OPCODE:.+]] = call @ark_uniform(%[[FIELD]])
// CHECK: cf.switch %[[OPCODE]]
// CHECK-LABEL: func.func private @ark_signal
// CHECK: call @ark_cta_barrier
// CHECK: call @ark_add_arrival
// CHECK-LABEL: func.func private @ark_wait
// CHECK: call @ark_load_arrivals
// CHECK: call @ark_back_off
// CHECK-LABEL: func.func private @ark_add_arrival
// CHECK-NEXT: call @ark_add_release
// CHECK-LABEL: func.func private @ark_load_relaxed
// CHECK: llvm.load %{{.+}} atomic syncscope("agent") monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK-LABEL: func.func private @ark_load_acquire
// CHECK: llvm.load %{{.+}} atomic syncscope("agent") acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// A release includes an explicit wait, since LLVM may omit its own.
// CHECK-LABEL: func.func private @ark_write_back
// CHECK-NEXT: llvm.fence syncscope("agent") release
// CHECK-NEXT: rocdl.s.waitcnt 3952
// CHECK-LABEL: func.func private @ark_add_release
// CHECK: call @ark_write_back
// CHECK: llvm.atomicrmw add %{{.+}} syncscope("agent") monotonic : !llvm.ptr<1>, i64
// CHECK-LABEL: func.func private @ark_set_if_zero
// CHECK: call @ark_write_back
// CHECK: llvm.cmpxchg %{{.+}} syncscope("agent") acquire acquire : !llvm.ptr<1>, i64
// CHECK-LABEL: func.func private @ark_store_release
// CHECK: call @ark_write_back
// CHECK: llvm.store %{{.+}} atomic syncscope("agent") monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
// Accesses to words of the host have system scope.
// CHECK-LABEL: func.func private @ark_load_host
// CHECK: llvm.load %{{.+}} atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK-LABEL: func.func private @ark_store_host
// CHECK: llvm.fence release
// CHECK-NEXT: rocdl.s.waitcnt 3952
// CHECK: llvm.store %{{.+}} atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
// The stores of each warp complete before the barrier that precedes a release.
// CHECK-LABEL: func.func private @ark_cta_barrier
// CHECK-NEXT: rocdl.s.waitcnt 3952
// CHECK-NEXT: gpu.barrier
// CHECK-LABEL: func.func private @ark_uniform
// CHECK: rocdl.readfirstlane %{{.+}} : i32
// The operands of bodies are in global memory, at an address that is uniform across the threads.
// CHECK-LABEL: func.func private @ark_mark_global
// CHECK: %[[NUMBER:.+]] = rocdl.readfirstlane %{{.+}} : i64
// CHECK-NEXT: %[[GLOBAL:.+]] = llvm.inttoptr %[[NUMBER]] : i64 to !llvm.ptr<1>
// CHECK-NEXT: llvm.addrspacecast %[[GLOBAL]] : !llvm.ptr<1> to !llvm.ptr
// CHECK-LABEL: func.func private @ark_back_off
// CHECK: rocdl.s.sleep
// CHECK-LABEL: func.func private @ark_any
// CHECK: rocdl.ballot
// CHECK: gpu.barrier
// CHECK: rocdl.ballot
// CHECK: gpu.barrier
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 65536, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}
