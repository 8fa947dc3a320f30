// RUN: ark-opt %s --split-input-file --ark-reductions-to-loops | FileCheck %s

// Values are combined with each other first, then with what is there.
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x64xf32>, %[[Y:[a-z0-9]+]]: memref<4xf32>)
// CHECK: scf.parallel (%[[I:.+]]) = (%{{.+}}) to (%{{.+}}) step (%{{.+}}) {
// CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[SUM:.+]] = scf.parallel (%[[J:.+]]) = (%{{.+}}) to (%{{.+}}) step (%{{.+}}) init (%[[ZERO]]) -> f32 {
// CHECK: %[[E:.+]] = memref.load %[[X]][%[[I]], %[[J]]]
// CHECK: %[[SQUARE:.+]] = arith.mulf %[[E]], %[[E]]
// CHECK: scf.reduce(%[[SQUARE]] : f32)
// CHECK: arith.addf
// CHECK: %[[OLD:.+]] = memref.load %[[Y]][%[[I]]]
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

// A contraction is one, too; so is a reduction to one number.
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

// What threads cannot exchange stays: values that are no 32 bits wide, several
// results, an accumulator that is more than combined.
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
