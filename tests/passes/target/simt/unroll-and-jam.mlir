// RUN: ark-opt %s --split-input-file --ark-unroll-and-jam --cse --canonicalize | FileCheck %s

// Four rows share the elements of b, which are loaded once.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[A:[a-z0-9]+]]: memref<4x32xf32>, %[[B:[a-z0-9]+]]: memref<64x32xf32>
// CHECK: scf.parallel
// CHECK: scf.parallel (%[[K:.+]]) = {{.*}} init (%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) -> (f32, f32, f32, f32)
// CHECK-DAG: memref.load %[[B]]
// CHECK-DAG: memref.load %[[A]]
// CHECK-DAG: memref.load %[[A]]
// CHECK-DAG: memref.load %[[A]]
// CHECK-DAG: memref.load %[[A]]
// CHECK-NOT: memref.load
// CHECK: scf.reduce(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}} : f32, f32, f32, f32)
// CHECK-COUNT-4: memref.store
// CHECK-NOT: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x32xf32>, %w: memref<64x32xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %depth = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %k] : memref<4x32xf32>
      %b = memref.load %w[%j, %k] : memref<64x32xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// Eight neighbouring elements of b are one load of 16 bytes.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[EIGHT:.+]] = arith.constant 8 : index
// CHECK: scf.parallel (%[[I:.+]], %[[J:.+]]) =
// CHECK: %[[FIRST:.+]] = arith.muli %[[J]], %[[EIGHT]]
// CHECK: scf.parallel (%[[K:.+]]) = {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK: vector.load %{{.+}}[%[[K]], %[[FIRST]]] {alignment = 16 : i64} : memref<32x64xf16>, vector<8xf16>
// CHECK-COUNT-8: vector.extract
// CHECK-COUNT-8: memref.store
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x32xf32>, %w: memref<32x64xf16> {llvm.align = 16 : i64}, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %depth = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %k] : memref<4x32xf32>
      %h = memref.load %w[%k, %j] : memref<32x64xf16>
      %b = arith.extf %h : f16 to f32
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// With unknown alignment, rows still share scalar loads.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: vector.load
// CHECK: scf.parallel {{.*}} -> (f32, f32, f32, f32) {
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x32xf32>, %w: memref<32x64xf16>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %depth = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %k] : memref<4x32xf32>
      %h = memref.load %w[%k, %j] : memref<32x64xf16>
      %b = arith.extf %h : f16 to f32
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// No two results share elements.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel {{.*}} -> f32 {
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x64x32xf32>, %w: memref<4x64x32xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %depth = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %j, %k] : memref<4x64x32xf32>
      %b = memref.load %w[%i, %j, %k] : memref<4x64x32xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// There is one row, with as many columns as threads.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel {{.*}} -> f32 {
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x32xf32>, %w: memref<64x32xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 1 : index
  %cols = arith.constant 64 : index
  %depth = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %k] : memref<4x32xf32>
      %b = memref.load %w[%j, %k] : memref<64x32xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// The sums have different lengths.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel {{.*}} -> f32 {
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x32xf32>, %w: memref<64x32xf32>, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %depth = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%i) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %k] : memref<4x32xf32>
      %b = memref.load %w[%j, %k] : memref<64x32xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// The row depends on the column inside of the sum, so columns are not neighbours.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: vector.load
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x64x32xf32>, %w: memref<64x64xf32> {llvm.align = 16 : i64}, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %depth = arith.constant 32 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %j, %k] : memref<4x64x32xf32>
      %row = arith.addi %j, %k : index
      %b = memref.load %w[%row, %j] : memref<64x64xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%p: f32, %q: f32):
        %s = arith.addf %p, %q : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// The length of the sum is dynamic: four rows share two columns, which one load
// brings.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel (%[[J:.+]]) =
// CHECK: scf.parallel (%[[K:.+]]) = {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32)
// CHECK-COUNT-4: memref.load %{{.+}} : memref<4x512xf32>
// CHECK: vector.load %{{.+}}[%[[K]], %{{.+}}] {alignment = 4 : i64} : memref<512x64xf16>, vector<2xf16>
// CHECK-COUNT-8: memref.store
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32>, %w: memref<512x64xf16> {llvm.align = 16 : i64}, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %k] : memref<4x512xf32>
      %h = memref.load %w[%k, %j] : memref<512x64xf16>
      %b = arith.extf %h : f16 to f32
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}

// -----

// The number of columns is dynamic: two columns share the row. An iteration
// beyond the end repeats the first of its two columns and stores nothing.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %{{.+}}: index, %[[N:[a-z0-9]+]]: index, %{{.+}}: index, %{{.+}}: memref<4xi64>, %{{.+}}: memref<1x64xf32>, %{{.+}}, %[[Y:[a-z0-9]+]]: memref<512xf32>)
// CHECK: %[[TWOS:.+]] = arith.ceildivui %[[N]], %{{.+}}
// CHECK: scf.parallel (%[[J:.+]]) = (%{{.+}}) to (%[[TWOS]])
// CHECK: %[[FIRST:.+]] = arith.muli
// CHECK: %[[NEXT:.+]] = arith.addi
// CHECK: %[[IS:.+]] = arith.cmpi ult, %[[NEXT]], %[[N]]
// CHECK: %[[SECOND:.+]] = arith.select %[[IS]], %[[NEXT]], %[[FIRST]]
// CHECK: scf.parallel {{.*}} -> (f32, f32)
// CHECK: memref.store %{{.+}}, %[[Y]][%[[FIRST]]]
// CHECK: scf.if %[[IS]] {
// CHECK-NEXT: memref.store %{{.+}}, %[[Y]][%[[SECOND]]]
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %q: memref<1x64xf32>, %k: memref<512x64xf32>, %y: memref<512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %depth = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %sum = scf.parallel (%d) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %q[%c0, %d] : memref<1x64xf32>
      %b = memref.load %k[%j, %d] : memref<512x64xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%j] : memref<512xf32>
    scf.reduce
  }
  return
}

// -----

// A clipped row has at most two columns, too few for a gain.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel {{.*}} -> f32
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %q: memref<1x64xf32>, %k: memref<512x64xf32>, %y: memref<512xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %depth = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  %n = affine.min affine_map<(d0) -> (2, d0 * -2 + 511)>(%begin)
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %sum = scf.parallel (%d) = (%c0) to (%depth) step (%c1) init (%zero) -> f32 {
      %a = memref.load %q[%c0, %d] : memref<1x64xf32>
      %b = memref.load %k[%j, %d] : memref<512x64xf32>
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %l, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%j] : memref<512xf32>
    scf.reduce
  }
  return
}

// -----

// A combination may use a value of its iteration, each copy its own one.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.reduce(%[[P0:[0-9]+]], %[[P1:[0-9]+]],
// CHECK: arith.addf %[[P0]], %{{.+}} : f32
// CHECK: arith.addf %[[P1]], %{{.+}} : f32
func.func private @body(%begin: index, %n: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32>, %w: memref<512x64xf16> {llvm.align = 16 : i64}, %y: memref<4x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 4 : index
  %cols = arith.constant 64 : index
  %zero = arith.constant 0.0 : f32
  scf.parallel (%i, %j) = (%c0, %c0) to (%rows, %cols) step (%c1, %c1) {
    %sum = scf.parallel (%k) = (%c0) to (%n) step (%c1) init (%zero) -> f32 {
      %a = memref.load %x[%i, %k] : memref<4x512xf32>
      %h = memref.load %w[%k, %j] : memref<512x64xf16>
      %b = arith.extf %h : f16 to f32
      %product = arith.mulf %a, %b : f32
      scf.reduce(%product : f32) {
      ^bb0(%l: f32, %r: f32):
        %s = arith.addf %product, %r : f32
        scf.reduce.return %s : f32
      }
    }
    memref.store %sum, %y[%i, %j] : memref<4x64xf32>
    scf.reduce
  }
  return
}
