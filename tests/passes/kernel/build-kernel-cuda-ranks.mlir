// RUN: ark-opt %s --ark-build-kernel | FileCheck %s

// Ranks may be on different GPUs. The upper bits of a signal's semaphore number say that the
// signal goes to another GPU and has system scope; loads of arrivals have system scope, too.
// CHECK-LABEL: func.func private @ark_signal
// CHECK: call @ark_add_arrival
// CHECK-LABEL: func.func private @ark_wait
// CHECK: call @ark_load_arrivals
// CHECK-LABEL: func.func private @ark_lane_number
// CHECK: llvm.load %{{.+}} : !llvm.ptr -> i32
// CHECK-LABEL: func.func private @ark_add_arrival
// CHECK: %[[DISTANCE:.+]] = arith.shrsi %arg2
// CHECK: %[[LOCAL:.+]] = arith.cmpi eq, %[[DISTANCE]]
// CHECK: cf.cond_br %[[LOCAL]]
// CHECK: call @ark_add_release
// CHECK: call @ark_add_remote_arrival
// The word with the number of the last iteration is in the memory of this GPU; lanes of all GPUs may write it.
// CHECK-LABEL: func.func private @ark_load_stop
// CHECK: call @ark_load_from_peers
// CHECK-LABEL: func.func private @ark_store_stop
// CHECK: call @ark_remote_stop_word
// CHECK: call @ark_store_remote
// CHECK-LABEL: func.func private @ark_add_remote_arrival
// CHECK: "red.release.sys.add.u64 [$0], $1;"
// CHECK-LABEL: func.func private @ark_store_remote
// CHECK: "st.relaxed.sys.u64 [$0], $1;"
// CHECK-LABEL: func.func private @ark_load_arrivals
// CHECK: "ld.acquire.sys.u64 $0, [$1];"
// CHECK-LABEL: func.func private @ark_load_from_peers
// CHECK: "ld.relaxed.sys.u64 $0, [$1];"
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 132, warps = 16,
    shared_memory = 1024, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
ark.kernel @k {
    entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>, ranks = 2 : i64,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
}
