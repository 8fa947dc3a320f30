// RUN: ark-opt %s --split-input-file --ark-map-to-threads=warp-size=32 --verify-diagnostics -o /dev/null

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  // expected-error @below {{'scf.parallel' op with a reduction cannot be divided among threads}}
  %sum = scf.parallel (%i) = (%c0) to (%c8) step (%c1) init (%f) -> f32 {
    %x = memref.load %y[%i] : memref<8xf32>
    scf.reduce(%x : f32) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      scf.reduce.return %s : f32
    }
  }
  return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<i32>) {
  %one = arith.constant 1 : i32
  // expected-error @below {{'memref.atomic_rmw' op writes memory and has results: neither a single thread nor all threads can execute it}}
  %old = memref.atomic_rmw addi %one, %y[] : (i32, memref<i32>) -> i32
  memref.store %old, %y[] : memref<i32>
  return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %f = arith.constant 1.0 : f32
  // expected-error @below {{'scf.execute_region' op contains a parallel loop, but its control flow may differ between threads}}
  scf.execute_region {
    scf.parallel (%i) = (%c0) to (%c8) step (%c1) {
      memref.store %f, %y[%i] : memref<8xf32>
      scf.reduce
    }
    scf.yield
  }
  return
}

// -----

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x64xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %c64 = arith.constant 64 : index
  %one = arith.constant 1.0 : f32
  // expected-error @below {{'scf.parallel' op cannot be divided among threads: a reduction in it does not begin with its neutral element, or comes after a write}}
  scf.parallel (%i) = (%c0) to (%c4) step (%c1) {
    %sum = scf.parallel (%j) = (%c0) to (%c64) step (%c1) init (%one) -> f32 {
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

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x512xf32>, %y: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %rows = arith.constant 2 : index
  %cols = arith.constant 512 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{cannot be divided among threads: a reduction in it does not begin with its neutral element, or comes after a write}}
  scf.parallel (%i) = (%c0) to (%rows) step (%c1) {
    memref.store %zero, %y[%i] : memref<4xf32>
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

ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xf32>, %y: memref<64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %t = memref.alloca() : memref<64xf32>
  // expected-error @below {{does not have one iteration for each of the 512 threads}}
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

// The inner function depends on the thread, so a call by one thread would do only part of the work.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %y: memref<512xindex>) {
  // expected-error @below {{'func.call' op calls code for all threads of a CTA, but lacks the attribute 'ark.cta_collective'}}
  func.call @outer(%y) : (memref<512xindex>) -> ()
  return
}
func.func private @outer(%y: memref<512xindex>) {
  func.call @inner(%y) : (memref<512xindex>) -> ()
  return
}
func.func private @inner(%y: memref<512xindex>) {
  %thread = gpu.thread_id x
  memref.store %thread, %y[%thread] : memref<512xindex>
  return
}
