// RUN: ark-opt %s --split-input-file '--ark-split-reductions=threads=64 warp-size=32' | FileCheck %s

// Each column has a sum over rows: every warp sums its part of the rows, and a
// second loop adds the partial sums of the warps.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %{{.+}}: index, %[[N:[a-z0-9]+]]: index, %{{.+}}: index, %{{.+}}: memref<4xi64>, %[[P:[a-z0-9]+]]: memref<4x?xf32>, %[[V:[a-z0-9]+]]: memref<?x16xf32>, %[[Y:[a-z0-9]+]]:
// CHECK: %[[PARTS:.+]] = memref.alloca() {alignment = 64 : i64} : memref<2x4x16xf32>
// CHECK: %[[TWO:.+]] = arith.constant 2 : index
// CHECK: scf.parallel (%[[PART:.+]], %[[I:.+]], %[[J:.+]]) =
// CHECK: %[[SUM:.+]] = scf.parallel (%[[K:.+]]) = (%[[PART]]) to (%[[N]]) step (%{{.+}}) init
// CHECK: memref.load %[[P]][%[[I]], %[[K]]]
// CHECK: memref.load %[[V]][%[[K]], %[[J]]]
// CHECK: arith.addf
// CHECK: memref.store %[[SUM]], %[[PARTS]][%[[PART]], %[[I]], %[[J]]]
// CHECK: scf.parallel (%[[I:.+]], %[[J:.+]]) =
// CHECK: %[[ALL:.+]] = scf.parallel (%[[PART:.+]]) = (%{{.+}}) to (%{{.+}}) step
// CHECK: %[[E:.+]] = memref.load %[[PARTS]][%[[PART]], %[[I]], %[[J]]]
// CHECK: scf.reduce(%[[E]] : f32)
// CHECK: arith.addf
// CHECK: %[[SCALED:.+]] = arith.mulf %[[ALL]],
// CHECK: memref.store %[[SCALED]], %[[Y]][%[[I]], %[[J]]]
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %p: memref<4x?xf32>, %v: memref<?x16xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %p[%i, %k] : memref<4x?xf32>
      %b = memref.load %v[%k, %j] : memref<?x16xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %scaled = arith.mulf %sum, %sum : f32
    memref.store %scaled, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// The length is static, and the factors of a row serve all its results.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %p: memref<4x?xf32>, %v: memref<?x16xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  %length = arith.constant 512 : index
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%length) step (%c1) init (%zero) -> f32 {
      %a = memref.load %p[%i, %k] : memref<4x?xf32>
      %b = memref.load %v[%k, %j] : memref<?x16xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %scaled = arith.mulf %sum, %sum : f32
    memref.store %scaled, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// The elements of each sum are contiguous, so the pass does not split it.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %p: memref<4x?xf32>, %v: memref<16x?xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %p[%i, %k] : memref<4x?xf32>
      %b = memref.load %v[%j, %k] : memref<16x?xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %scaled = arith.mulf %sum, %sum : f32
    memref.store %scaled, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// There are fewer results than threads in a warp.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %p: memref<4x?xf32>, %v: memref<?x16xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 1 : index
  %cols = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %p[%i, %k] : memref<4x?xf32>
      %b = memref.load %v[%k, %j] : memref<?x16xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %scaled = arith.mulf %sum, %sum : f32
    memref.store %scaled, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// There are more results than threads.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %p: memref<4x?xf32>, %v: memref<?x64xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %p[%i, %k] : memref<4x?xf32>
      %b = memref.load %v[%k, %j] : memref<?x64xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %scaled = arith.mulf %sum, %sum : f32
    memref.store %scaled, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// The number of results overflows an i64; its low 64 bits are 128.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %p: memref<4x?xf32>, %v: memref<?x64xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 288230376151711746 : index
  %cols = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %p[%i, %k] : memref<4x?xf32>
      %b = memref.load %v[%k, %j] : memref<?x64xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    %scaled = arith.mulf %sum, %sum : f32
    memref.store %scaled, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// A sum over two static dimensions, whose columns are contiguous: the warps
// divide the iterations of both.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<3x64x32xf32>
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<2x32xf32>
// CHECK: scf.parallel (%[[PART:.+]], %[[J:.+]]) =
// CHECK: scf.parallel (%[[N:.+]]) = (%[[PART]]) to (%{{.+}}) step (%{{.+}}) init
// CHECK: %[[INDICES:.+]]:2 = affine.delinearize_index %[[N]] into
// CHECK: memref.load %[[X]][%{{.+}}, %{{.+}}, %[[J]]]
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %x: memref<3x64x32xf32>, %y: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batches = arith.constant 3 : index
  %rows = arith.constant 64 : index
  %cols = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%j) = (%c0) to (%cols) step (%c1) {
    %sum = scf.parallel (%b, %k) = (%c0, %c0) to (%batches, %rows) step (%c1, %c1) init (%zero) -> f32 {
      %a = memref.load %x[%b, %k, %j] : memref<3x64x32xf32>
      scf.reduce(%a : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%j] : memref<32xf32>
    scf.reduce
  }
  return
}

// -----

// Eight results: each warp of 32 threads has four parts of all results.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<3x64x8xf32>
// CHECK: memref.alloca() {alignment = 64 : i64} : memref<8x8xf32>
// CHECK: scf.parallel (%[[PART:.+]], %[[J:.+]]) =
// CHECK: scf.parallel (%[[N:.+]]) = (%[[PART]]) to (%{{.+}}) step (%{{.+}}) init
// CHECK: %[[INDICES:.+]]:2 = affine.delinearize_index %[[N]] into
// CHECK: memref.load %[[X]][%{{.+}}, %{{.+}}, %[[J]]]
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %x: memref<3x64x8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batches = arith.constant 3 : index
  %rows = arith.constant 64 : index
  %cols = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%j) = (%c0) to (%cols) step (%c1) {
    %sum = scf.parallel (%b, %k) = (%c0, %c0) to (%batches, %rows) step (%c1, %c1) init (%zero) -> f32 {
      %a = memref.load %x[%b, %k, %j] : memref<3x64x8xf32>
      scf.reduce(%a : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%j] : memref<8xf32>
    scf.reduce
  }
  return
}

// -----

// Four results fill no memory sector.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %x: memref<3x64x4xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batches = arith.constant 3 : index
  %rows = arith.constant 64 : index
  %cols = arith.constant 4 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%j) = (%c0) to (%cols) step (%c1) {
    %sum = scf.parallel (%b, %k) = (%c0, %c0) to (%batches, %rows) step (%c1, %c1) init (%zero) -> f32 {
      %a = memref.load %x[%b, %k, %j] : memref<3x64x4xf32>
      scf.reduce(%a : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%j] : memref<4xf32>
    scf.reduce
  }
  return
}

// -----

// Too short to be divided among warps.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: memref.alloca
// CHECK: return
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %x: memref<127x32xf32>, %y: memref<32xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 127 : index
  %cols = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%j) = (%c0) to (%cols) step (%c1) {
    %sum = scf.parallel (%k) = (%c0) to (%rows) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%k, %j] : memref<127x32xf32>
      scf.reduce(%a : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%j] : memref<32xf32>
    scf.reduce
  }
  return
}
