// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_90a --ark-map-to-threads=threads=64 | FileCheck %s

// Threads take iterations round-robin, with the last dimension fastest.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %{{.+}}: index, %{{.+}}: index, %{{.+}}: index, %{{.+}}: memref<4xi64>, %[[Y:.+]]: memref<4x8xf32>)
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: %[[STRIDE:.+]] = arith.constant 64 : index
// CHECK: scf.for %[[N:.+]] = %[[THREAD]] to %{{.+}} step %[[STRIDE]] {
// CHECK: %[[IJ:.+]]:2 = affine.delinearize_index %[[N]] into (%{{.+}}, %{{.+}})
// CHECK: memref.store %{{.+}}, %[[Y]][%{{.+}}, %{{.+}}]
// CHECK: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c8) step (%c1, %c1) {
    memref.store %f, %y[%i, %j] : memref<4x8xf32>
    scf.reduce
  }
  return
}

// -----

// One thread executes a write outside of parallel loops, behind a barrier for
// earlier reads.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[X:.+]] = memref.load
// CHECK-NEXT: %[[THREAD:.+]] = gpu.thread_id x
// CHECK-NEXT: gpu.barrier
// CHECK: %[[LEADS:.+]] = arith.cmpi eq, %[[THREAD]], %{{.+}} : index
// CHECK-NEXT: scf.if %[[LEADS]] {
// CHECK-NEXT: memref.store %[[X]]
// CHECK-NEXT: }
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<f32>) {
  %x = memref.load %y[] : memref<f32>
  memref.store %x, %y[] : memref<f32>
  return
}

// -----

// All threads execute a function that only reads, and a barrier follows the last read.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<f32>) {
  %x = memref.load %y[] : memref<f32>
  return
}

// -----

// All threads execute a loop that contains parallel loops. A barrier separates
// the reads at its end from the writes at its start.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step
// CHECK: scf.for %{{.+}} = %[[THREAD]] to
// CHECK: gpu.barrier
// CHECK-NEXT: memref.load
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: }
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  scf.for %n = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      memref.store %f, %y[%i] : memref<8xf32>
      scf.reduce
    }
    %x = memref.load %y[%c0] : memref<8xf32>
  }
  return
}

// -----

// Functions that are not bodies do not change.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>)
// CHECK-LABEL: func.func @other
// CHECK-NOT: gpu.
func.func @other(%y: memref<f32>) {
  %f = arith.constant 1.0 : f32
  memref.store %f, %y[] : memref<f32>
  return
}

// -----

// 64 threads for 4 results: 16 threads share each result, and combine their values by shuffles.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: %[[LANES:.+]] = arith.constant 16 : index
// CHECK: scf.for %[[N:.+]] = %[[THREAD]] to
// CHECK: %[[GROUP:.+]] = arith.divui %[[N]], %[[LANES]]
// CHECK: %[[LANE:.+]] = arith.remui %[[N]], %[[LANES]]
// CHECK: arith.minui %[[GROUP]]
// CHECK: %[[FIRST:.+]] = arith.muli %[[LANE]], %{{.+}}
// A thread loads its four values at once.
// CHECK: scf.for %{{.+}} = %[[FIRST]] to %{{.+}} step %{{.+}} iter_args
// CHECK-COUNT-4: memref.load
// CHECK-NOT: memref.load
// CHECK: arith.addf
// CHECK: scf.yield
// CHECK-COUNT-4: gpu.shuffle xor
// CHECK-NOT: gpu.shuffle
// CHECK: scf.if %{{.+}} {
// CHECK: memref.store
// CHECK: }
// CHECK: gpu.barrier
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x64xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<4x64xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<4xf32>
    scf.reduce
  }
  return
}

// -----

// With as many results as threads, each thread computes one result.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: gpu.shuffle
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64x8xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c8) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<64x8xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// For a tile that may be clipped, the largest extent determines the number of threads per result.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-COUNT-5: gpu.shuffle xor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8x64xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %rows = affine.min affine_map<(d0) -> (2, d0 * -2 + 8)>(%begin)
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c64) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<8x64xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// If rows begin at multiples of 16 bytes, a thread loads 16 bytes at once, and
// four vectors before the first use.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: %[[LANE:.+]] = arith.remui
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args
// CHECK-COUNT-4: vector.load %{{.+}} {alignment = 16 : i64} : memref<4x512xf32>, vector<4xf32>
// CHECK-NOT: vector.load
// CHECK: vector.extract
// CHECK-NOT: memref.load
// CHECK: gpu.shuffle xor
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32> {llvm.align = 16 : i64}, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<4x512xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<4xf32>
    scf.reduce
  }
  return
}

// -----

// The alignment of the rows is unknown, or their size is not a multiple of 16 bytes.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: vector.load
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x510xf32> {llvm.align = 16 : i64}, %u: memref<4x512xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 510 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<4x510xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    %other = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %e = memref.load %u[%i, %j] : memref<4x512xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<4xf32>
    memref.store %other, %y[%i] : memref<4xf32>
    scf.reduce
  }
  return
}

// -----

// Both warps share the single result, and combine their values in shared memory.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[WORDS:.+]] = memref.alloca() : memref<1x2xf32>
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: %[[ALL:.+]] = arith.constant 64 : index
// CHECK: arith.divui %{{.+}}, %[[ALL]]
// CHECK-COUNT-5: gpu.shuffle xor
// CHECK: scf.if
// CHECK: memref.store %{{.+}}, %[[WORDS]]
// CHECK: gpu.barrier
// CHECK-COUNT-2: memref.load %[[WORDS]]
// CHECK: arith.addf
// CHECK: scf.if
// CHECK: memref.store
// CHECK: gpu.barrier
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 1 : index
  %cols = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<4x512xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<4xf32>
    scf.reduce
  }
  return
}

// -----

// One iteration has two reductions, and the second one uses the result of the first.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args
// CHECK: %[[FIRST:.+]] = arith.addf
// CHECK: scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args
// CHECK: arith.subf
// CHECK: scf.if
// CHECK-NEXT: memref.store
// CHECK-NEXT: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<4x512xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    %other = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero) -> f32 {
      %d = memref.load %x[%i, %j] : memref<4x512xf32>
      %e = arith.subf %d, %sum : f32
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<4xf32>
    memref.store %other, %z[%i] : memref<4xf32>
    scf.reduce
  }
  return
}

// -----

// A reduction of two values combines each with its own op.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for
// CHECK: %[[PARTS:[0-9a-z]+]]:2 = scf.for
// CHECK: %[[OTHER_SUM:[a-zA-Z0-9_]+]], %{{.+}} = gpu.shuffle xor %[[PARTS]]#0,
// CHECK: arith.addf %[[PARTS]]#0, %[[OTHER_SUM]]
// CHECK: %[[OTHER_MAX:[a-zA-Z0-9_]+]], %{{.+}} = gpu.shuffle xor %[[PARTS]]#1,
// CHECK: arith.maximumf %[[PARTS]]#1, %[[OTHER_MAX]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    %both:2 = scf.parallel (%j) = (%c0) to (%cols) step (%c1) init (%zero, %least) -> (f32, f32) {
      %e = memref.load %x[%i, %j] : memref<4x512xf32>
      scf.reduce(%e, %e : f32, f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }, {
      ^bb0(%a: f32, %b: f32):
        %s = arith.maximumf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %both#0, %y[%i] : memref<4xf32>
    memref.store %both#1, %z[%i] : memref<4xf32>
    scf.reduce
  }
  return
}

// -----

// Two independent loops need no barrier between them, and each uses other
// threads. The third loop depends on the first one and moves behind the
// barrier, although it was before the second loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8xf32> {llvm.noalias}, %[[Y:[a-z0-9]+]]: memref<8xf32> {llvm.noalias}, %[[Z:[a-z0-9]+]]: memref<8xf32> {llvm.noalias})
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: scf.for %{{.+}} = %[[THREAD]] to
// CHECK: memref.store %{{.+}}, %[[X]]
// CHECK-NOT: gpu.barrier
// CHECK: %[[FAR:.+]] = arith.addi %[[THREAD]], %{{.+}}
// CHECK: %[[OTHER:.+]] = arith.remui %[[FAR]], %{{.+}}
// CHECK: scf.for %{{.+}} = %[[OTHER]] to
// CHECK: memref.store %{{.+}}, %[[Z]]
// CHECK: gpu.barrier
// CHECK: scf.for %{{.+}} = %[[THREAD]] to
// CHECK: memref.load %[[X]]
// CHECK: memref.store %{{.+}}, %[[Y]]
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %f, %x[%i] : memref<8xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %e = memref.load %x[%i] : memref<8xf32>
    memref.store %e, %y[%i] : memref<8xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %f, %z[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// A barrier separates accesses to buffers that may alias, and reads from the
// writes that overwrite them.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<8xf32>, %[[Y:[a-z0-9]+]]: memref<8xf32>, %[[Z:[a-z0-9]+]]: memref<8xf32> {llvm.noalias})
// CHECK: memref.store %{{.+}}, %[[X]]
// CHECK: gpu.barrier
// CHECK: memref.load %[[Z]]
// CHECK: memref.store %{{.+}}, %[[Y]]
// CHECK: gpu.barrier
// CHECK: memref.store %{{.+}}, %[[Z]]
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xf32>, %y: memref<8xf32>, %z: memref<8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %f, %x[%i] : memref<8xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    %e = memref.load %z[%i] : memref<8xf32>
    memref.store %e, %y[%i] : memref<8xf32>
    scf.reduce
  }
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %f, %z[%i] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// Two loops fill two halves of a temporary concurrently; their reader waits for both.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: gpu.thread_id
// CHECK: memref.store
// CHECK-NOT: gpu.barrier
// CHECK: memref.store
// CHECK: gpu.barrier
// CHECK: memref.load
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<2x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  %t = memref.alloca() : memref<2x8xf32>
  %left = memref.subview %t[0, 0] [2, 4] [1, 1] : memref<2x8xf32> to memref<2x4xf32, strided<[8, 1]>>
  %right = memref.subview %t[0, 4] [2, 4] [1, 1] : memref<2x8xf32> to memref<2x4xf32, strided<[8, 1], offset: 4>>
  scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c4) step (%c1, %c1) {
    memref.store %f, %left[%i, %j] : memref<2x4xf32, strided<[8, 1]>>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c4) step (%c1, %c1) {
    memref.store %f, %right[%i, %j] : memref<2x4xf32, strided<[8, 1], offset: 4>>
    scf.reduce
  }
  scf.parallel (%i, %j) = (%c0, %c0) to (%c2, %c8) step (%c1, %c1) {
    %e = memref.load %t[%i, %j] : memref<2x8xf32>
    memref.store %e, %y[%i, %j] : memref<2x8xf32>
    scf.reduce
  }
  return
}

// -----

// A reduction of dynamic length takes eight elements at a time, and then four
// of the remainder: loads beyond the end repeat the first element, and are
// masked. The elements of two threads are four apart.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %{{.+}}: index, %[[N:[a-z0-9]+]]: index, %{{.+}}: index, %{{.+}}: memref<4xi64>, %[[X:[a-z0-9]+]]: memref
// CHECK-DAG: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[MANY:.+]] = scf.for %{{.+}} = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%{{.+}} = %[[ZERO]]) -> (f32) {
// CHECK-COUNT-8: memref.load %[[X]]
// CHECK-NOT: memref.load
// CHECK: scf.yield
// CHECK: scf.for %[[FIRST:.+]] = %{{.+}} to %[[N]] step %{{.+}} iter_args(%{{.+}} = %[[MANY]]) -> (f32) {
// CHECK: %[[NEXT:.+]] = arith.addi %[[FIRST]]
// CHECK: %[[IS:.+]] = arith.cmpi slt, %[[NEXT]], %[[N]]
// CHECK: arith.select %[[IS]], %[[NEXT]], %[[FIRST]]
// CHECK: memref.load %[[X]]
// CHECK: %[[SECOND:.+]] = memref.load %[[X]]
// CHECK: arith.select %[[IS]], %[[SECOND]], %[[ZERO]]
// CHECK-COUNT-2: memref.load %[[X]]
// CHECK-NOT: memref.load
// CHECK: scf.yield
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %x: memref<64x512xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %sum = scf.parallel (%j) = (%c1) to (%n) step (%c4) init (%zero) -> f32 {
      %e = memref.load %x[%i, %j] : memref<64x512xf32>
      scf.reduce(%e : f32) {
      ^bb0(%a: f32, %b: f32):
        %s = arith.addf %a, %b : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// The load of a scalar moves before the loops that do not need it; loops that
// depend on it follow them.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[N:[a-z0-9]+]]: memref<i32> {llvm.noalias}, %[[X:[a-z0-9]+]]: memref<8xf32> {llvm.noalias}, %[[Y:[a-z0-9]+]]: memref<8xf32> {llvm.noalias})
// CHECK: %[[NUMBER:.+]] = memref.load %[[N]][]
// CHECK: memref.store %{{.+}}, %[[X]]
// CHECK: arith.index_cast %[[NUMBER]]
// CHECK: memref.store %{{.+}}, %[[Y]]
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %n: memref<i32> {llvm.noalias}, %x: memref<8xf32> {llvm.noalias}, %y: memref<8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
    memref.store %f, %x[%i] : memref<8xf32>
    scf.reduce
  }
  %number = memref.load %n[] : memref<i32>
  %element = arith.index_cast %number : i32 to index
  scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
    memref.store %f, %y[%element] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// The scalar is loaded again in every vCTA, so that computations on it cannot
// be hoisted out of the loop over vCTAs.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[N:[a-z0-9]+]]: memref<i32> {llvm.noalias}
// CHECK: scf.for
// CHECK: memref.extract_aligned_pointer_as_index %[[N]]
// CHECK: llvm.load volatile
// CHECK: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %n: memref<i32> {llvm.noalias}, %y: memref<8xi32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  scf.for %v = %begin to %end step %c1 {
    %number = memref.load %n[] : memref<i32>
    scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      memref.store %number, %y[%i] : memref<8xi32>
      scf.reduce
    }
  }
  return
}

// -----

// A scalar that a loop carries is in shared memory. All threads load it after a
// barrier, and a second barrier precedes the write of the next iteration.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[T:.+]] = memref.alloca() : memref<i32>
// CHECK: scf.for {{.*}} iter_args(%[[FOUND:.+]] = %{{.+}}) -> (i32)
// CHECK: memref.store %[[FOUND]], %[[T]][]
// CHECK: gpu.barrier
// CHECK-NEXT: %[[NEXT:.+]] = memref.load %[[T]][]
// CHECK-NEXT: gpu.barrier
// CHECK-NEXT: scf.yield %[[NEXT]]
// CHECK-NOT: volatile
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<i32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c31 = arith.constant 31 : index
  %none = arith.constant 0 : i32
  %t = memref.alloca() : memref<i32>
  scf.for %vcta = %begin to %end step %c1 {
    %last = scf.for %bit = %c0 to %c31 step %c1 iter_args(%found = %none) -> (i32) {
      scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
        memref.store %found, %t[] : memref<i32>
        scf.reduce
      }
      %next = memref.load %t[] : memref<i32>
      scf.yield %next : i32
    }
    scf.parallel (%i) = (%c0) to (%c1) step (%c1) {
      memref.store %last, %y[] : memref<i32>
      scf.reduce
    }
  }
  return
}

// -----

// A loop with one iteration per thread becomes straight-line code of each thread.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<64xf32>, %[[Y:[a-z0-9]+]]: memref<64xf32>
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: %[[T:.+]] = memref.alloca()
// CHECK-NOT: scf.for
// CHECK: %[[A:.+]] = memref.load %[[X]][%[[THREAD]]]
// CHECK-NEXT: memref.store %[[A]], %[[T]][%[[THREAD]]]
// CHECK-NEXT: gpu.barrier
// CHECK: scf.for %{{.+}} = %[[THREAD]] to
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32>
  scf.forall (%i) in (64) {
    %a = memref.load %x[%i] : memref<64xf32>
    memref.store %a, %t[%i] : memref<64xf32>
  } {mapping = [#gpu.thread<linear_dim_0>]}
  scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
    %a = memref.load %t[%i] : memref<64xf32>
    memref.store %a, %y[%i] : memref<64xf32>
    scf.reduce
  }
  return
}

// -----

// A loop that needs most registers gets an opaque copy of the thread id. Compilers cannot tell that
// the copy equals the thread id outside, so they keep no derived value live across the loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[THREAD:.+]] = gpu.thread_id x
// CHECK: scf.for
// CHECK: scf.for %{{.+}} = %[[THREAD]] to
// CHECK: gpu.barrier
// CHECK: %[[READ:.+]] = llvm.inline_asm has_side_effects "mov.u32 $0, %tid.x;", "=r"  : () -> i32
// CHECK: %[[INSIDE:.+]] = arith.index_castui %[[READ]] : i32 to index
// CHECK: memref.store %{{.+}}, %{{.+}}[%[[INSIDE]]]
// CHECK: %[[AGAIN:.+]] = llvm.inline_asm has_side_effects
// CHECK: %[[AFTER:.+]] = arith.index_castui %[[AGAIN]] : i32 to index
// CHECK: gpu.barrier
// CHECK: scf.for %{{.+}} = %[[AFTER]] to
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %s = memref.alloca() : memref<64xf32>
  %t = memref.alloca() : memref<64xf32>
  scf.for %v = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %a = memref.load %x[%i] : memref<64xf32>
      memref.store %a, %s[%i] : memref<64xf32>
      scf.reduce
    }
    scf.forall (%i) in (64) {
      %a = memref.load %s[%i] : memref<64xf32>
      memref.store %a, %t[%i] : memref<64xf32>
    } {ark.high_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %a = memref.load %t[%i] : memref<64xf32>
      memref.store %a, %y[%i] : memref<64xf32>
      scf.reduce
    }
  }
  return
}

// -----

// If a loop leaves no registers for values that vCTAs share, each vCTA begins
// with opaque copies of the vCTA's and the thread's id.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.for %[[VCTA:.+]] = %
// CHECK-NEXT: %[[NARROW:.+]] = arith.index_cast %[[VCTA]] : index to i32
// CHECK-NEXT: %[[MOVED:.+]] = llvm.inline_asm has_side_effects "mov.u32 $0, $1;", "=r,r" %[[NARROW]]
// CHECK-NEXT: %[[ANEW:.+]] = arith.index_castui %[[MOVED]] : i32 to index
// CHECK-NEXT: %[[READ:.+]] = llvm.inline_asm has_side_effects "mov.u32 $0, %tid.x;", "=r"  : () -> i32
// CHECK-NEXT: %[[THREAD:.+]] = arith.index_castui %[[READ]] : i32 to index
// CHECK: scf.for %{{.+}} = %[[THREAD]] to
// CHECK: gpu.barrier
// CHECK-NOT: llvm.inline_asm
// CHECK: memref.store %{{.+}}, %{{.+}}[%[[ANEW]], %[[THREAD]]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32>, %y: memref<8x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %s = memref.alloca() : memref<64xf32>
  scf.for %v = %begin to %end step %c1 {
    scf.parallel (%i) = (%c0) to (%c64) step (%c1) {
      %a = memref.load %x[%i] : memref<64xf32>
      memref.store %a, %s[%i] : memref<64xf32>
      scf.reduce
    }
    scf.forall (%i) in (64) {
      %a = memref.load %s[%i] : memref<64xf32>
      memref.store %a, %y[%v, %i] : memref<8x64xf32>
    } {ark.full_register_pressure, mapping = [#gpu.thread<linear_dim_0>]}
  }
  return
}

// -----

// Two bodies with one function: the function is divided among threads once.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}, {function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: gpu.thread_id x
// CHECK-NOT: gpu.thread_id x
// CHECK: gpu.barrier
// CHECK-NEXT: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%c4, %c8) step (%c1, %c1) {
    memref.store %f, %y[%i, %j] : memref<4x8xf32>
    scf.reduce
  }
  return
}
