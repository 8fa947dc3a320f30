// RUN: ark-opt %s --ark-build-kernel | FileCheck %s --implicit-check-not='inline_asm has_side_effects "{{[^"]}}'

// Ranks may be on different GPUs. A signal within a GPU has the scope of the GPU; the text of signals
// and stops is that of all GPUs.
// CHECK-LABEL: func.func private @ark_wait
// CHECK: call @ark_load_arrivals
// CHECK-LABEL: func.func private @ark_add_arrival
// CHECK: %[[DISTANCE:.+]] = arith.shrsi %arg2
// CHECK: %[[LOCAL:.+]] = arith.cmpi eq, %[[DISTANCE]]
// CHECK: cf.cond_br %[[LOCAL]]
// CHECK: call @ark_add_release
// CHECK: call @ark_add_remote_arrival
// CHECK-LABEL: func.func private @ark_load_stop
// CHECK: call @ark_load_from_peers
// CHECK-LABEL: func.func private @ark_store_stop
// CHECK: call @ark_remote_stop_word
// CHECK: call @ark_store_remote
// CHECK-LABEL: func.func private @ark_add_release
// CHECK: llvm.atomicrmw add %{{.+}} syncscope("agent") monotonic : !llvm.ptr<1>, i64
// Accesses to other GPUs have LLVM's default scope, the system. A release writes the L2 back and waits.
// CHECK-LABEL: func.func private @ark_add_remote_arrival
// CHECK: llvm.fence release
// CHECK-NEXT: rocdl.s.waitcnt 3952
// CHECK: llvm.atomicrmw add %{{.+}}, %{{.+}} monotonic : !llvm.ptr<1>, i64
// CHECK-LABEL: func.func private @ark_store_remote
// CHECK: llvm.store %{{.+}} atomic monotonic {alignment = 8 : i64} : i64, !llvm.ptr<1>
// CHECK-LABEL: func.func private @ark_load_arrivals
// CHECK: llvm.load %{{.+}} atomic acquire {alignment = 8 : i64} : !llvm.ptr<1> -> i64
// CHECK-LABEL: func.func private @ark_load_from_peers
// CHECK: llvm.load %{{.+}} atomic monotonic {alignment = 8 : i64} : !llvm.ptr<1> -> i64
module attributes {ark.target = #ark.target<backend = hip, arch = "gfx942", sms = 304, warps = 8,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>, ranks = 2 : i64,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}
