// RUN: ark-opt %s --split-input-file --ark-cache-tables=threads=64 | FileCheck %s

// The kernel copies the context first, then the tables to multiples of 128 bytes, and
// replaces the addresses in the copied context. The shared memory of bodies lies before.
// CHECK: llvm.mlir.global external @ark_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: ark.kernel @k
// CHECK-SAME: shared_memory = 536 : i64
// CHECK: func.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr, %[[LANE:.+]]: i64)
// CHECK: %[[SHARED:.+]] = llvm.getelementptr %{{.+}}[128]
// CHECK: %[[CACHED:.+]] = llvm.addrspacecast %[[SHARED]]
// CHECK: %[[WORDS:.+]] = arith.constant 14 : index
// CHECK: scf.for %[[I:.+]] = %{{.+}} to %[[WORDS]] step
// CHECK: %[[N:.+]] = arith.index_cast %[[I]]
// CHECK: %[[FROM:.+]] = llvm.getelementptr %[[CONTEXT]][%[[N]]]
// CHECK: %[[WORD:.+]] = llvm.load %[[FROM]]
// CHECK: %[[TO:.+]] = llvm.getelementptr %[[CACHED]][%[[N]]]
// CHECK: llvm.store %[[WORD]], %[[TO]]
// CHECK: gpu.barrier
// The kernel copies the table of tasks.
// CHECK: llvm.getelementptr %[[CONTEXT]][3]
// CHECK: llvm.getelementptr %{{.+}}[256]
// The kernel copies the instructions of this lane. Their copy ends where the copy for the longest lane ends.
// CHECK: arith.muli %[[LANE]]
// CHECK: %[[FIRST:.+]] = arith.extsi
// CHECK: %[[LAST:.+]] = arith.extsi
// CHECK: %[[COUNT:.+]] = arith.subi %[[LAST]], %[[FIRST]]
// CHECK: %[[WORDS:.+]] = arith.muli %[[COUNT]]
// CHECK: %[[BEFORE:.+]] = arith.subi %{{.+}}, %[[WORDS]]
// CHECK: %[[SKIPPED:.+]] = arith.muli %[[FIRST]]
// CHECK: llvm.getelementptr %{{.+}}[%[[SKIPPED]]]
// CHECK: llvm.getelementptr %{{.+}}[416]
// CHECK: llvm.getelementptr %{{.+}}[%[[BEFORE]]]
// The copy of the table of operands has an address for each operand, instead of a buffer and an offset.
// CHECK: %[[BUFFERS:.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.getelementptr %[[CONTEXT]][4]
// CHECK: %[[OPERANDS:.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.getelementptr %{{.+}}[512]
// CHECK: %[[ADDRESSES:.+]] = llvm.addrspacecast
// CHECK: %[[ROWS:.+]] = arith.constant 2 : index
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[ROWS]] step
// CHECK: %[[ROW:.+]] = llvm.getelementptr %[[OPERANDS]][%{{.+}}]
// CHECK: %[[SLOT:.+]] = llvm.load %[[ROW]] : !llvm.ptr -> i64
// CHECK: %[[OFFSET:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %[[BUFFERS]][%[[SLOT]]]
// CHECK: %[[BUFFER:.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[ADDRESS:.+]] = llvm.getelementptr %[[BUFFER]][%[[OFFSET]]] : {{.+}}, i8
// CHECK: llvm.getelementptr %[[ADDRESSES]]
// CHECK: llvm.store %[[ADDRESS]]
// CHECK: gpu.barrier
// CHECK-NEXT: %[[REPORT:.+]] = llvm.getelementptr %[[CACHED]][6]
// CHECK-NEXT: llvm.load %[[REPORT]]
// The state of the dispatch loop lies behind the tables.
// CHECK-LABEL: func.func private @ark_dispatch_state() -> !llvm.ptr<3> {
// CHECK: llvm.getelementptr %{{.+}}[528]
// The loop reads the entries of the copies. It counts instructions from the end of their copy.
// CHECK-LABEL: func.func private @ark_instruction(
// CHECK-SAME: %{{.+}}: !llvm.ptr, %{{[^:]+}}: i64, %[[LEFT:[^:]+]]: i64)
// CHECK: %[[OWN:.+]] = arith.subi %{{.+}}, %[[LEFT]]
// CHECK: llvm.getelementptr %{{.+}}[416]
// CHECK: %[[HERE:.+]] = llvm.getelementptr %{{.+}}[%[[OWN]]] : {{.+}}, vector<4xi32>
// CHECK-NEXT: llvm.load %[[HERE]] : !llvm.ptr -> vector<4xi32>
// CHECK-LABEL: func.func private @ark_task(
// CHECK: llvm.getelementptr %{{.+}}[256]
// CHECK: llvm.load %{{.+}} : !llvm.ptr -> vector<2xi32>
// CHECK-LABEL: func.func private @ark_operand(
// CHECK: llvm.getelementptr %{{.+}}[512]
// CHECK: %[[ENTRY:.+]] = llvm.getelementptr %{{.+}}[%{{.+}}] : {{.+}}, !llvm.ptr
// CHECK-NEXT: %[[RESULT:.+]] = llvm.load %[[ENTRY]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT: return %[[RESULT]]
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 4096, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @k {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{}], buffers = [{name = "x"}], tasks = [{name = "t"}],
      operands = dense<[[1, 0], [0, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
      instructions = dense<0> : tensor<3x4xi32>, lanes = dense<[[0, 0, 1], [1, 1, 3]]> : tensor<2x3xi32>,
      semaphores = [], timeline = dense<0> : tensor<3x2xi64>, shared_memory = 100 : i64}
  func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
    %field = llvm.getelementptr %context[6] : (!llvm.ptr) -> !llvm.ptr, i64
    %report = llvm.load %field : !llvm.ptr -> i64
    %code = arith.trunci %report : i64 to i32
    return %code : i32
  }
  func.func private @ark_dispatch_state() -> !llvm.ptr<3>
  func.func private @ark_instruction(%context: !llvm.ptr, %last: i64, %left: i64) -> vector<4xi32> {
    %row = llvm.load %context : !llvm.ptr -> vector<4xi32>
    return %row : vector<4xi32>
  }
  func.func private @ark_task(%context: !llvm.ptr, %task: i64) -> vector<2xi32> {
    %row = llvm.load %context : !llvm.ptr -> vector<2xi32>
    return %row : vector<2xi32>
  }
  func.func private @ark_operand(%context: !llvm.ptr, %operand: i64) -> !llvm.ptr {
    %address = llvm.load %context : !llvm.ptr -> !llvm.ptr
    return %address : !llvm.ptr
  }
}

// -----

// Tables that do not fit stay in global memory: here all but the context.
// CHECK-LABEL: ark.kernel @k
// CHECK-SAME: shared_memory = 112 : i64
// CHECK: func.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
// CHECK: return
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 120, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @k {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{}], buffers = [{name = "x"}], tasks = [{name = "t"}],
      operands = dense<[[1, 0], [0, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
      instructions = dense<0> : tensor<3x4xi32>, lanes = dense<[[0, 0, 1], [1, 1, 3]]> : tensor<2x3xi32>,
      semaphores = [], timeline = dense<0> : tensor<3x2xi64>}
  func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
    %field = llvm.getelementptr %context[6] : (!llvm.ptr) -> !llvm.ptr, i64
    %report = llvm.load %field : !llvm.ptr -> i64
    %code = arith.trunci %report : i64 to i32
    return %code : i32
  }
}

// -----

// The context does not fit either.
// CHECK-LABEL: ark.kernel @k
// CHECK: func.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr
// CHECK-NEXT: llvm.getelementptr %[[CONTEXT]][6]
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 64, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @k {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{}], buffers = [{name = "x"}], tasks = [{name = "t"}],
      operands = dense<[[1, 0], [0, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
      instructions = dense<0> : tensor<3x4xi32>, lanes = dense<[[0, 0, 1], [1, 1, 3]]> : tensor<2x3xi32>,
      semaphores = [], timeline = dense<0> : tensor<3x2xi64>}
  func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
    %field = llvm.getelementptr %context[6] : (!llvm.ptr) -> !llvm.ptr, i64
    %report = llvm.load %field : !llvm.ptr -> i64
    %code = arith.trunci %report : i64 to i32
    return %code : i32
  }
}

// -----

// The pass ignores a module without a kernel.
// CHECK-LABEL: func.func @other
// CHECK-NEXT: return
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 4096, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  func.func @other() {
    return
  }
}

// -----

// If the module lacks the reader functions, the kernel copies only its context.
// CHECK-LABEL: ark.kernel @no_readers
// CHECK-SAME: shared_memory = 240 : i64
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 4096, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @no_readers {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [{}], buffers = [{name = "x"}], tasks = [{name = "t"}],
      operands = dense<[[1, 0], [2, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
      instructions = dense<0> : tensor<3x4xi32>, lanes = dense<[[0, 0, 1], [1, 1, 3]]> : tensor<2x3xi32>,
      semaphores = [], timeline = dense<0> : tensor<3x2xi64>, packets = 128 : i64, shared_memory = 100 : i64}
  func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
    %field = llvm.getelementptr %context[6] : (!llvm.ptr) -> !llvm.ptr, i64
    %report = llvm.load %field : !llvm.ptr -> i64
    %code = arith.trunci %report : i64 to i32
    return %code : i32
  }
}
