// RUN: ark-opt %s --split-input-file --ark-cache-tables=threads=64 | FileCheck %s

// The context is copied first; then the tables, at multiples of 128 bytes, and
// their places in it change. What the bodies use of the memory lies before.
// CHECK: llvm.mlir.global external @ark_shared_memory() {addr_space = 3 : i32, alignment = 1024 : i64}
// CHECK-LABEL: ark.kernel @k
// CHECK-SAME: shared_memory = 672 : i64
// CHECK: func.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr, %[[LANE:.+]]: i64)
// CHECK: %[[PLACE:.+]] = llvm.getelementptr %{{.+}}[128]
// CHECK: %[[CACHED:.+]] = llvm.addrspacecast %[[PLACE]]
// CHECK: %[[WORDS:.+]] = arith.constant 14 : index
// CHECK: scf.for %[[I:.+]] = %{{.+}} to %[[WORDS]] step
// CHECK: %[[N:.+]] = arith.index_cast %[[I]]
// CHECK: %[[FROM:.+]] = llvm.getelementptr %[[CONTEXT]][%[[N]]]
// CHECK: %[[WORD:.+]] = llvm.load %[[FROM]]
// CHECK: %[[TO:.+]] = llvm.getelementptr %[[CACHED]][%[[N]]]
// CHECK: llvm.store %[[WORD]], %[[TO]]
// CHECK: gpu.barrier
// Buffers: the arena and one argument.
// CHECK: llvm.getelementptr %[[CONTEXT]][0]
// CHECK: llvm.getelementptr %{{.+}}[256]
// CHECK: arith.constant 2 : index
// CHECK: %[[BUFFERS:.+]] = llvm.getelementptr %[[CACHED]][0]
// CHECK: llvm.store %{{.+}}, %[[BUFFERS]]
// Tasks.
// CHECK: llvm.getelementptr %[[CONTEXT]][3]
// CHECK: llvm.getelementptr %{{.+}}[384]
// Instructions of this lane, as if those of the lanes before were there, too.
// CHECK: arith.muli %[[LANE]]
// CHECK: %[[FIRST:.+]] = arith.extsi
// CHECK: %[[LAST:.+]] = arith.extsi
// CHECK: %[[COUNT:.+]] = arith.subi %[[LAST]], %[[FIRST]]
// CHECK: %[[SKIPPED:.+]] = arith.muli %[[FIRST]]
// CHECK: llvm.getelementptr %{{.+}}[512]
// CHECK: %[[BACK:.+]] = arith.subi %{{.+}}, %[[SKIPPED]]
// CHECK: %[[INSTRUCTIONS:.+]] = llvm.getelementptr %[[CACHED]][1]
// CHECK: llvm.store %{{.+}}, %[[INSTRUCTIONS]]
// Operands.
// CHECK: llvm.getelementptr %[[CONTEXT]][4]
// CHECK: llvm.getelementptr %{{.+}}[640]
// CHECK: gpu.barrier
// CHECK-NEXT: %[[REPORT:.+]] = llvm.getelementptr %[[CACHED]][6]
// CHECK-NEXT: llvm.load %[[REPORT]]
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 4096, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @k {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [], buffers = [{name = "x"}], tasks = [{name = "t"}],
      operands = dense<[[1, 0], [0, 64]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
      instructions = dense<0> : tensor<3x4xi32>, lanes = dense<[[0, 0, 1], [1, 1, 3]]> : tensor<2x3xi32>,
      semaphores = [], timeline = dense<0> : tensor<3x2xi64>, shared_memory = 100 : i64}
  func.func @ark_kernel(%context: !llvm.ptr, %lane: i64) -> i32 {
    %field = llvm.getelementptr %context[6] : (!llvm.ptr) -> !llvm.ptr, i64
    %report = llvm.load %field : !llvm.ptr -> i64
    %code = arith.trunci %report : i64 to i32
    return %code : i32
  }
}

// -----

// What does not fit stays where it is: here all but the context.
// CHECK-LABEL: ark.kernel @k
// CHECK-SAME: shared_memory = 112 : i64
// CHECK: func.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr
// CHECK-COUNT-1: scf.for
// CHECK-NOT: scf.for
// CHECK: return
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 120, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @k {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [], buffers = [{name = "x"}], tasks = [{name = "t"}],
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

// Not even the context.
// CHECK-LABEL: ark.kernel @k
// CHECK: func.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr
// CHECK-NEXT: llvm.getelementptr %[[CONTEXT]][6]
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 64, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @k {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [], buffers = [{name = "x"}], tasks = [{name = "t"}],
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

// A module without a kernel stays as it is.
// CHECK-LABEL: func.func @other
// CHECK-NEXT: return
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 4096, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  func.func @other() {
    return
  }
}

// -----

// Packets have a slot as well: the arena's, one argument's and theirs.
// CHECK-LABEL: ark.kernel @packets
// CHECK: func.func @ark_kernel(%[[CONTEXT:.+]]: !llvm.ptr, %{{.+}}: i64)
// CHECK: llvm.getelementptr %[[CONTEXT]][0]
// CHECK: llvm.getelementptr %{{.+}}[256]
// CHECK-NEXT: llvm.addrspacecast
// CHECK-NEXT: arith.constant 3 : index
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 2,
    shared_memory = 4096, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.kernel @packets {
      entry = @ark_kernel, sms = 2 : i64, arena = 0 : i64, bodies = [], buffers = [{name = "x"}], tasks = [{name = "t"}],
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
