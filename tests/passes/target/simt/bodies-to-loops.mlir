// RUN: ark-opt %s --split-input-file --ark-bodies-to-loops | FileCheck %s

// The loop combines its values first, and then the result with the previous content.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x64xf32>, %[[Y:[a-z0-9]+]]: memref<4xf32>)
// CHECK: scf.parallel (%[[I:.+]]) = (%{{.+}}) to (%{{.+}}) step (%{{.+}}) {
// CHECK: %[[OLD:.+]] = memref.load %[[Y]][%[[I]]]
// CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[SUM:.+]] = scf.parallel (%[[J:.+]]) = (%{{.+}}) to (%{{.+}}) step (%{{.+}}) init (%[[ZERO]]) -> f32 {
// CHECK: %[[E:.+]] = memref.load %[[X]][%[[I]], %[[J]]]
// CHECK: %[[SQUARE:.+]] = arith.mulf %[[E]], %[[E]]
// CHECK: scf.reduce(%[[SQUARE]] : f32)
// CHECK: arith.addf
// CHECK: %[[NEW:.+]] = arith.addf %[[OLD]], %[[SUM]]
// CHECK: memref.store %[[NEW]], %[[Y]][%[[I]]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x64xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x64xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %square = arith.mulf %e, %e : f32
    %sum = arith.addf %square, %acc : f32
    linalg.yield %sum : f32
  }
  return
}

// -----

// A contraction becomes a reduction loop, and so does a reduction to a scalar.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-NOT: linalg.
// CHECK: scf.parallel (%{{.+}}, %{{.+}}) =
// CHECK: scf.parallel (%{{.+}}) = {{.*}} init
// CHECK: scf.parallel (%{{.+}}) =
// CHECK: arith.constant 0xFF800000 : f32
// CHECK: scf.parallel (%{{.+}}, %{{.+}}) = {{.*}} init
// CHECK: arith.maximumf
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %a: memref<4x64xf32>, %b: memref<8x64xf32>, %c: memref<4x8xf32>, %m: memref<f32>) {
  linalg.contract indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>]
      ins(%a, %b : memref<4x64xf32>, memref<8x64xf32>) outs(%c : memref<4x8xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                  iterator_types = ["reduction", "reduction"]}
      ins(%a : memref<4x64xf32>) outs(%m : memref<f32>) {
  ^bb0(%e: f32, %acc: f32):
    %max = arith.maximumf %e, %acc : f32
    linalg.yield %max : f32
  }
  return
}

// -----

// These reductions do not change, since threads cannot exchange values that are not 32 bits wide, several
// results, or an accumulator with another use.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-COUNT-3: linalg.generic
// CHECK-NOT: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<64xi64>, %y: memref<i64>, %u: memref<64xf32>, %v: memref<f32>, %w: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : memref<64xi64>) outs(%y : memref<i64>) {
  ^bb0(%e: i64, %acc: i64):
    %sum = arith.addi %e, %acc : i64
    linalg.yield %sum : i64
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%u : memref<64xf32>) outs(%v, %w : memref<f32>, memref<f32>) {
  ^bb0(%e: f32, %a: f32, %b: f32):
    %sum = arith.addf %e, %a : f32
    %product = arith.mulf %e, %b : f32
    linalg.yield %sum, %product : f32, f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%u : memref<64xf32>) outs(%v : memref<f32>) {
  ^bb0(%e: f32, %acc: f32):
    %scaled = arith.mulf %e, %acc : f32
    %sum = arith.addf %scaled, %acc : f32
    linalg.yield %sum : f32
  }
  return
}

// -----

// A following op over the same iteration space joins the loop. Values stay in registers, and the temporary is
// removed.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: memref<4x64xf32> {llvm.noalias}, %[[Y:[a-z0-9]+]]: memref<4xf32> 
// CHECK-NOT: memref.alloca
// CHECK: scf.parallel (%[[I:.+]]) =
// CHECK: %[[SUM:.+]] = scf.parallel
// CHECK: %[[NEW:.+]] = arith.addf %{{.+}}, %[[SUM]]
// CHECK: %[[ROOT:.+]] = math.rsqrt %[[NEW]]
// CHECK: memref.store %[[ROOT]], %[[Y]][%[[I]]]
// CHECK-NOT: memref.store
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x64xf32> {llvm.noalias}, %y: memref<4xf32> {llvm.noalias}) {
  %zero = arith.constant 0.0 : f32
  %t = memref.alloca() : memref<4xf32>
  linalg.fill ins(%zero : f32) outs(%t : memref<4xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x64xf32>) outs(%t : memref<4xf32>) {
  ^bb0(%e: f32, %acc: f32):
    %sum = arith.addf %e, %acc : f32
    linalg.yield %sum : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%t : memref<4xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%e: f32, %out: f32):
    %root = math.rsqrt %e : f32
    linalg.yield %root : f32
  }
  return
}

// -----

// An op that reads elements of other iterations stays behind the loop.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[T:.+]] = memref.alloca()
// CHECK: scf.parallel
// CHECK: memref.store %{{.+}}, %[[T]]
// CHECK: scf.parallel
// CHECK: memref.load %[[T]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4x4xf32> {llvm.noalias}, %y: memref<4x4xf32> {llvm.noalias}) {
  %t = memref.alloca() : memref<4x4xf32>
  linalg.copy ins(%x : memref<4x4xf32>) outs(%t : memref<4x4xf32>)
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<4x4xf32>) outs(%y : memref<4x4xf32>) {
  ^bb0(%e: f32, %out: f32):
    linalg.yield %e : f32
  }
  return
}

// -----

// Ops on operands that may alias keep their order.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-COUNT-2: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  linalg.copy ins(%x : memref<4xf32>) outs(%y : memref<4xf32>)
  linalg.copy ins(%z : memref<4xf32>) outs(%x : memref<4xf32>)
  return
}

// -----

// Another memory access between two ops ends a loop, and so does another extent.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: scf.parallel
// CHECK: memref.load
// CHECK: scf.parallel
// CHECK: scf.parallel
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<4xf32> {llvm.noalias}, %y: memref<4xf32> {llvm.noalias}, %z: memref<8xf32> {llvm.noalias}) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  linalg.fill ins(%zero : f32) outs(%x : memref<4xf32>)
  %e = memref.load %x[%c0] : memref<4xf32>
  linalg.fill ins(%e : f32) outs(%y : memref<4xf32>)
  linalg.fill ins(%e : f32) outs(%z : memref<8xf32>)
  return
}

// -----

// A body may use `linalg.index`. Clipped tiles have the same extents if they
// are tiles of the same operand.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK: %[[ROWS:.+]] = affine.min
// CHECK: scf.parallel (%[[I:.+]]) = (%{{.+}}) to (%[[ROWS]]) step
// CHECK: arith.index_cast %[[I]]
// CHECK-NOT: scf.parallel
// CHECK: return
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<8xi32> {llvm.noalias}, %y: memref<8xi32> {llvm.noalias}) {
  %first = affine.apply affine_map<(d0) -> (d0 * 3)>(%begin)
  %rows = affine.min affine_map<(d0) -> (3, d0 * -3 + 8)>(%begin)
  %xs = memref.subview %x[%first] [%rows] [1] : memref<8xi32> to memref<?xi32, strided<[1], offset: ?>>
  %ys = memref.subview %y[%first] [%rows] [1] : memref<8xi32> to memref<?xi32, strided<[1], offset: ?>>
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%xs : memref<?xi32, strided<[1], offset: ?>>) {
  ^bb0(%out: i32):
    %i = linalg.index 0 : index
    %number = arith.index_cast %i : index to i32
    linalg.yield %number : i32
  }
  linalg.copy ins(%xs : memref<?xi32, strided<[1], offset: ?>>) outs(%ys : memref<?xi32, strided<[1], offset: ?>>)
  return
}
