// RUN: ark-opt %s --ark-build-kernel | FileCheck %s
// RUN: ark-opt %s --ark-build-kernel | FileCheck %s --check-prefix=ONE-RANK --implicit-check-not=.sys.add \
// RUN:   --implicit-check-not=relaxed.sys --implicit-check-not=remote --implicit-check-not=sync_ranks --implicit-check-not=begun_word

// A kernel of one rank has no code for other GPUs. Only words of the host have the scope of the system.
// ONE-RANK: "ld.acquire.sys.u64
// ONE-RANK: "st.release.sys.u64

// The leader waits and signals for its CTA, with the memory order and scope
// that hand-offs between SMs need. LLVM's own atomics would drop both.
// CHECK-NOT: atomicrmw
// CHECK-NOT: cmpxchg
// A resident kernel calls the loop once in its code, so that the loop is inlined,
// and all threads of a CTA agree on failure.
// CHECK-LABEL: func.func private @ark_resident_loop
// CHECK: llvm.getelementptr %{{.+}}[13]
// CHECK: call @ark_notify_start
// CHECK: call @ark_await_doorbell
// CHECK: call @ark_kernel
// CHECK-NOT: call @ark_kernel
// CHECK: call @ark_any
// CHECK: call @ark_acknowledge_run
// One thread of the kernel announces the start by one store, for which no thread waits.
// CHECK-LABEL: func.func private @ark_notify_start
// CHECK: %[[REPORT:.+]] = llvm.load
// CHECK: %[[LEADS:.+]] = call @ark_is_leader_again
// CHECK: %[[FIRST:.+]] = arith.cmpi eq, %arg1, %{{.+}} : i64
// CHECK: %[[TELLS:.+]] = arith.andi %[[LEADS]], %[[FIRST]]
// CHECK: cf.cond_br %[[TELLS]]
// CHECK: %[[QUEUED:.+]] = llvm.getelementptr %[[REPORT]][7]
// CHECK: llvm.store volatile %{{.+}}, %[[QUEUED]] : i64
// CHECK-NOT: llvm.store
// One lane polls the words of the host and forwards their values; no other lane reads them.
// CHECK-LABEL: func.func private @ark_await_doorbell
// CHECK: call @ark_load_host
// CHECK: call @ark_store_release
// CHECK: call @ark_load_acquire
// CHECK: call @ark_any
// CHECK-LABEL: func.func private @ark_acknowledge_run
// CHECK: call @ark_cta_barrier
// CHECK: call @ark_add_release
// CHECK: call @ark_store_host
// Packets are reloaded until all carry the epoch of this iteration.
// CHECK-LABEL: func.func private @ark_packets_poll
// CHECK: call @ark_poll
// CHECK-LABEL: func.func private @ark_packets_check_abort
// CHECK: call @ark_report_hang
// Each packet is one word, which one instruction stores or loads.
// CHECK-LABEL: func.func private @ark_send_packet
// CHECK: llvm.inline_asm has_side_effects "st.relaxed.gpu.global.u32 [$0], $1;", "l,r,~{memory}"
// CHECK-LABEL: func.func private @ark_load_packets
// CHECK: llvm.inline_asm has_side_effects "ld.relaxed.gpu.global.v4.u32 {$0, $1, $2, $3}, [$4];"
// All threads of a warp take the same branch.
// CHECK-LABEL: func.func private @ark_any_of_warp
// CHECK: nvvm.vote.sync any
// CHECK-LABEL: func.func @ark_kernel(%{{.+}}: !llvm.ptr, %{{.+}}: i64) -> i32
// CHECK: call @ark_begin_iteration
// CHECK: call @ark_begin_work_item
// CHECK-NEXT: call @ark_execute_work_item
// CHECK-NEXT: call @ark_end_work_item
// Work items and waits end with a barrier, so that the leader sees the writes of all threads. The
// leader loads the value once.
// CHECK-LABEL: func.func private @ark_stop
// CHECK-NOT: gpu.barrier
// CHECK: llvm.load %{{.+}} : !llvm.ptr -> i32
// CHECK: call @ark_store_stop
// CHECK-LABEL: func.func private @ark_signal
// The writes of all threads happen before the release of the leader.
// CHECK: call @ark_cta_barrier
// CHECK: cf.cond_br
// CHECK: call @ark_add_arrival
// CHECK-LABEL: func.func private @ark_wait
// CHECK: call @ark_load_arrivals
// All threads of the CTA take the same branch.
// CHECK: call @ark_any
// A warp that has read its chunks of a work item requests two chunks of the next work item at once.
// If lanes poll for packets, the requests follow the sends of the work item.
// CHECK-LABEL: func.func private @ark_stream_close
// CHECK: %[[POLLS:.+]] = call @ark_stream_polls
// CHECK: %[[WAITS:.+]] = arith.cmpi eq, %[[POLLS]], %{{.+}}
// CHECK: cf.cond_br %[[WAITS]], ^[[PROCEED:.+]], ^
// CHECK: ^[[PROCEED]]:
// CHECK-NEXT: call @ark_stream_request_later
// CHECK-LABEL: func.func private @ark_stream_request_later
// CHECK: %[[TWO:.+]] = arith.constant 2 : i32
// CHECK: call @ark_stream_next_segment
// CHECK: %[[CAN:.+]] = call @ark_stream_can_request
// CHECK: %[[FEW:.+]] = arith.cmpi slt, %{{.+}}, %[[TWO]]
// CHECK: arith.andi %[[CAN]], %[[FEW]]
// CHECK: call @ark_stream_request
// CHECK-LABEL: func.func private @ark_stream_end_work_item
// CHECK: call @ark_stream_request_later
// All lanes are on one GPU.
// CHECK-LABEL: func.func private @ark_add_arrival
// CHECK-NEXT: call @ark_add_release
// CHECK-LABEL: func.func private @ark_load_arrivals
// CHECK-NEXT: call @ark_load_acquire
// CHECK-LABEL: func.func private @ark_store_stop
// CHECK: call @ark_set_if_zero
// CHECK-LABEL: func.func private @ark_load_acquire
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.gpu.u64 $0, [$1];", "=l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_add_release
// CHECK: llvm.inline_asm has_side_effects "red.release.gpu.add.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_load_host
// CHECK: llvm.inline_asm has_side_effects "ld.acquire.sys.u64 $0, [$1];", "=l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_store_host
// CHECK: llvm.inline_asm has_side_effects "st.release.sys.u64 [$0], $1;", "l,l,~{memory}"
// CHECK-LABEL: func.func private @ark_cta_barrier
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
// CHECK-LABEL: func.func private @ark_any
// CHECK: nvvm.barrier #nvvm.reduction<or>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}
