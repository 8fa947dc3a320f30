// The tables of a kernel in shared memory have room for the instructions of the longest lane, after the tables are
// linked for the GPU of each rank.
// RUN: sed 's/RANKS/1/' %s | ark-opt --ark-cache-tables=threads=64 | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: sed 's/RANKS/2/' %s | ark-opt --ark-cache-tables=threads=64 | FileCheck %s --check-prefixes=CHECK,TWO
// RUN: sed 's/RANKS/3/' %s | ark-opt --ark-cache-tables=threads=64 | FileCheck %s --check-prefixes=CHECK,THREE

// Each table begins at a multiple of 128 bytes: context, tasks, instructions (of 16 bytes) and addresses of operands.
// With one rank, the context has 14 words, lane 1 has four instructions, and the operands begin at byte 384.
// With two ranks, the context has 16 words. Linking makes two instructions of a signal, of a wait and of a stop, and five
// of a barrier, so that lane 1 has ten. With three ranks a stop has three and a barrier six, and lane 1 has twelve.
// The state of the dispatch loop follows the three operands.
// ONE: ark.kernel @k {{.*}}shared_memory = 416 : i64
// TWO: ark.kernel @k {{.*}}shared_memory = 544 : i64
// THREE: ark.kernel @k {{.*}}shared_memory = 544 : i64
// CHECK-LABEL: func.func @ark_kernel(
// ONE: %[[WORDS:.+]] = arith.constant 14 : index
// TWO: %[[WORDS:.+]] = arith.constant 16 : index
// THREE: %[[WORDS:.+]] = arith.constant 16 : index
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[WORDS]]
// The copy of the instructions ends at a multiple of 128 plus the instructions of the longest lane.
// CHECK: arith.subi
// ONE: llvm.getelementptr %{{.+}}[320] :
// TWO: llvm.getelementptr %{{.+}}[416] :
// THREE: llvm.getelementptr %{{.+}}[448] :
// CHECK-LABEL: func.func private @ark_dispatch_state(
// ONE: llvm.getelementptr %{{.+}}[408] :
// TWO: llvm.getelementptr %{{.+}}[536] :
// THREE: llvm.getelementptr %{{.+}}[536] :
// CHECK-LABEL: func.func private @ark_operand(
// ONE: llvm.getelementptr %{{.+}}[384] :
// TWO: llvm.getelementptr %{{.+}}[512] :
// THREE: llvm.getelementptr %{{.+}}[512] :
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 4096, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  // Lane 0: run, signal, barrier. Lane 1: wait, prefetch, stop, barrier.
  ark.kernel @k {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, ranks = RANKS : i64, bodies = [{}], buffers = [{name = "x"}], tasks = [{name = "t"}],
      operands = dense<[[1, 0], [0, 64], [0, 128]]> : tensor<3x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
      instructions = dense<[[0, 0, 0, 1], [1, 0, 0, 0], [3, 1, 0, 0], [2, 0, 1, 0], [4, 0, 0, 1], [5, 0, 0, 0], [3, 1, 0, 0]]> : tensor<7x4xi32>,
      lanes = dense<[[0, 0, 3], [1, 3, 7]]> : tensor<2x3xi32>,
      semaphores = [], timeline = dense<0> : tensor<7x2xi64>}
  func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
    %field = llvm.getelementptr %context[6] : (!llvm.ptr) -> !llvm.ptr, i64
    %report = llvm.load %field : !llvm.ptr -> i64
    %code = arith.trunci %report : i64 to i32
    return %code : i32
  }
  func.func private @ark_dispatch_state() -> !llvm.ptr<3>
  func.func private @ark_instruction(%context: !llvm.ptr, %last: i64, %left: i64) -> vector<4xi32> {
    %entry = llvm.load %context : !llvm.ptr -> vector<4xi32>
    return %entry : vector<4xi32>
  }
  func.func private @ark_task(%context: !llvm.ptr, %task: i64) -> vector<2xi32> {
    %entry = llvm.load %context : !llvm.ptr -> vector<2xi32>
    return %entry : vector<2xi32>
  }
  func.func private @ark_operand(%context: !llvm.ptr, %operand: i64) -> !llvm.ptr {
    %address = llvm.load %context : !llvm.ptr -> !llvm.ptr
    return %address : !llvm.ptr
  }
}
