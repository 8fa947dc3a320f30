// The barriers between the ops of a body: one for each conflict that no other barrier orders.
// RUN: ark-opt %s --split-input-file '--ark-map-to-threads=threads=64 warp-size=32' | FileCheck %s

// A call reads a buffer through a pointer. It conflicts with no access of other buffers.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @receive(!llvm.ptr, memref<64xf32>)
// CHECK-LABEL: func.func private @body(
// CHECK: memref.load
// CHECK-NOT: gpu.barrier
// CHECK: call @receive
// CHECK: gpu.barrier
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %n: memref<f32> {llvm.noalias}, %x: memref<64xi32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %copy = memref.alloca() : memref<64xf32>
  %number = memref.load %n[] : memref<f32>
  %index = memref.extract_aligned_pointer_as_index %x : memref<64xi32> -> index
  %address = arith.addi %index, %c64 : index
  %word = arith.index_cast %address : index to i64
  %pointer = llvm.inttoptr %word : i64 to !llvm.ptr
  func.call @receive(%pointer, %copy) {ark.cta_collective = 1 : i64} : (!llvm.ptr, memref<64xf32>) -> ()
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %v = memref.load %copy[%i] : memref<64xf32>
    %sum = arith.addf %v, %number : f32
    memref.store %sum, %y[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// A call through a pointer conflicts with a write to the same buffer.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @receive(!llvm.ptr, memref<64xf32>)
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: call @receive
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f = arith.constant 1.0 : f32
  %copy = memref.alloca() : memref<64xf32>
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    memref.store %f, %x[%i] : memref<64xf32>
    scf.reduce
  }
  %index = memref.extract_aligned_pointer_as_index %x : memref<64xf32> -> index
  %word = arith.index_cast %index : index to i64
  %pointer = llvm.inttoptr %word : i64 to !llvm.ptr
  func.call @receive(%pointer, %copy) {ark.cta_collective = 1 : i64} : (!llvm.ptr, memref<64xf32>) -> ()
  return
}

// -----

// A pointer of unknown origin conflicts with every buffer.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @somewhere() -> !llvm.ptr
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: llvm.load
// CHECK: gpu.barrier
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f = arith.constant 1.0 : f32
  %pointer = func.call @somewhere() : () -> !llvm.ptr
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    memref.store %f, %x[%i] : memref<64xf32>
    scf.reduce
  }
  %v = llvm.load %pointer : !llvm.ptr -> f32
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    memref.store %v, %x[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// A prefetch accesses no memory.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: prefetch.global.L2
// CHECK: gpu.barrier
// CHECK: fence.acq_rel.gpu
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32> {llvm.noalias}, %address: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    memref.store %f, %x[%i] : memref<64xf32>
    scf.reduce
  }
  llvm.inline_asm has_side_effects "prefetch.global.L2 [$0];", "l" %address : (i64) -> ()
  llvm.inline_asm has_side_effects "fence.acq_rel.gpu;", "" : () -> ()
  return
}

// -----

// The first barrier of the loop over vCTAs orders its reads after an earlier write.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: scf.for %{{.+}} = %arg0 to %arg1
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8x64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f = arith.constant 1.0 : f32
  %shared = memref.alloca() : memref<64xf32>
  %own = memref.alloca() : memref<64xf32>
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    memref.store %f, %shared[%i] : memref<64xf32>
    scf.reduce
  }
  scf.for %v = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      memref.store %f, %own[%i] : memref<64xf32>
      scf.reduce
    }
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %a = memref.load %shared[%i] : memref<64xf32>
      %b = memref.load %own[%i] : memref<64xf32>
      %sum = arith.addf %a, %b : f32
      memref.store %sum, %y[%v, %i] : memref<8x64xf32>
      scf.reduce
    }
  }
  return
}

// -----

// The first op of the loop reads what was written before the loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for %{{.+}} = %arg0 to %arg1
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8x64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %f = arith.constant 1.0 : f32
  %shared = memref.alloca() : memref<64xf32>
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    memref.store %f, %shared[%i] : memref<64xf32>
    scf.reduce
  }
  scf.for %v = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %a = memref.load %shared[%i] : memref<64xf32>
      memref.store %a, %y[%v, %i] : memref<8x64xf32>
      scf.reduce
    }
  }
  return
}

// -----

// Thread 0 writes the only result of a reduction, and reads it for the next element.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: gpu.shuffle
// CHECK: memref.store %{{.+}}, %[[SUM:.+]][%{{.+}}] : memref<1xf32>
// CHECK-NOT: gpu.barrier
// CHECK: memref.load %[[SUM]]
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<1xf32>
  scf.parallel (%r) = (%c0) to (%c1) step (%c1) {
    %all = scf.parallel (%i) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i] : memref<64xf32>
      scf.reduce(%a : f32) {
      ^bb0(%l: f32, %rr: f32):
        %s = arith.addf %l, %rr : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %all, %sum[%r] : memref<1xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    %a = memref.load %sum[%i] : memref<1xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %y[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// All threads read the only result of a reduction.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store %{{.+}}, %[[SUM:.+]][%{{.+}}] : memref<1xf32>
// CHECK: gpu.barrier
// CHECK: memref.load %[[SUM]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<1xf32>
  scf.parallel (%r) = (%c0) to (%c1) step (%c1) {
    %all = scf.parallel (%i) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i] : memref<64xf32>
      scf.reduce(%a : f32) {
      ^bb0(%l: f32, %rr: f32):
        %s = arith.addf %l, %rr : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %all, %sum[%r] : memref<1xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %a = memref.load %sum[%c0] : memref<1xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// Thread 0 writes what all threads of the reduction have read.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store %{{.+}}, %[[SUM:.+]][%{{.+}}] : memref<1xf32>
// CHECK: gpu.barrier
// CHECK: memref.load %[[SUM]]
// CHECK: memref.store %{{.+}}, %arg4
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<1xf32>
  scf.parallel (%r) = (%c0) to (%c1) step (%c1) {
    %all = scf.parallel (%i) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i] : memref<64xf32>
      scf.reduce(%a : f32) {
      ^bb0(%l: f32, %rr: f32):
        %s = arith.addf %l, %rr : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %all, %sum[%r] : memref<1xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    %a = memref.load %sum[%i] : memref<1xf32>
    memref.store %a, %x[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// Thread 0 reads and writes single elements in turn. An independent loop between them has other
// threads, which then read the element after a barrier.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.store %{{.+}}, %[[SUM:.+]][%{{.+}}] : memref<1xf32>
// CHECK-NOT: gpu.barrier
// CHECK: memref.store %{{.+}}, %arg5
// CHECK-NOT: gpu.barrier
// CHECK: memref.load %[[SUM]]
// CHECK: memref.store %{{.+}}, %[[TWICE:.+]][%{{.+}}] : memref<1xf32>
// CHECK: gpu.barrier
// CHECK: memref.load %[[TWICE]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32> {llvm.noalias}, %y: memref<64xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %sum = memref.alloca() : memref<1xf32>
  %twice = memref.alloca() : memref<1xf32>
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    %a = memref.load %x[%i] : memref<64xf32>
    memref.store %a, %sum[%i] : memref<1xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    memref.store %zero, %y[%i] : memref<64xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    %a = memref.load %sum[%i] : memref<1xf32>
    %b = arith.addf %a, %a : f32
    memref.store %b, %twice[%i] : memref<1xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %a = memref.load %twice[%c0] : memref<1xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// A thread beyond the last sum does not load the sum that another thread accumulates. It may load other memory.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[BIAS:[a-z0-9]+]]: memref<10xf32> {llvm.noalias}, %{{[a-z0-9]+}}: memref<10x64xf32> {llvm.noalias}, %[[Y:[a-z0-9]+]]: memref<10xf32>
// CHECK-NOT: memref.load %[[Y]]
// CHECK: %[[B:.+]] = memref.load %[[BIAS]]
// CHECK: gpu.shuffle
// CHECK: scf.if
// CHECK-NEXT: %[[OLD:.+]] = memref.load %[[Y]]
// CHECK-NEXT: %[[BIASED:.+]] = arith.addf %[[OLD]], %[[B]]
// CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[BIASED]],
// CHECK-NEXT: memref.store %[[SUM]], %[[Y]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %bias: memref<10xf32> {llvm.noalias}, %x: memref<10x64xf32> {llvm.noalias}, %y: memref<10xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c10 = arith.constant 10 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c10) step (%c1) {
    %b = memref.load %bias[%i] : memref<10xf32>
    %old = memref.load %y[%i] : memref<10xf32>
    %biased = arith.addf %old, %b : f32
    %sum = scf.parallel (%k) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %v = memref.load %x[%i, %k] : memref<10x64xf32>
      scf.reduce(%v : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    %new = arith.addf %biased, %sum : f32
    memref.store %new, %y[%i] : memref<10xf32>
    scf.reduce
  }
  return
}
