// RUN: ark-opt %s --split-input-file --ark-lower-check-index | FileCheck %s

// The comparison is unsigned, so that it rejects negative indices.
// CHECK-LABEL: func.func private @body_gather(
// CHECK-SAME: %{{.+}}: index, %{{.+}}: index, %[[TASK:.+]]: index, %[[STATUS:.+]]: memref<4xi64>, %[[INDEX:.+]]: index, %[[BOUND:.+]]: index) -> index
// CHECK-NEXT: %[[OUTSIDE:.+]] = arith.cmpi uge, %[[INDEX]], %[[BOUND]] : index
// CHECK-NEXT: %[[ZERO:.+]] = arith.constant 0 : index
// CHECK-NEXT: %[[VALID:.+]] = arith.select %[[OUTSIDE]], %[[ZERO]], %[[INDEX]] : index
// CHECK-NEXT: scf.if %[[OUTSIDE]] {
// CHECK-NEXT:   func.call @ark_report_index(%[[STATUS]], %[[INDEX]], %[[BOUND]], %[[TASK]])
// CHECK-NEXT: }
// CHECK-NEXT: return %[[VALID]] : index
// CHECK: func.func private @ark_report_index(memref<4xi64>, index, index, index)
func.func private @body_gather(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %index: index, %bound: index) -> index {
  %valid = ark.check_index %index below %bound
  return %valid : index
}

// -----

// The upper half of the word of the task has the number of the sequence plus one.
// CHECK-LABEL: func.func private @body_sequence(
// CHECK-SAME: %{{.+}}: index, %{{.+}}: index, %[[TASK:.+]]: index, %[[STATUS:.+]]: memref<4xi64>, %[[INDEX:.+]]: index, %[[BOUND:.+]]: index, %[[SEQUENCE:.+]]: index) -> index
// CHECK: scf.if
// CHECK: %[[ONE:.+]] = arith.constant 1 : index
// CHECK: %[[NEXT:.+]] = arith.addi %[[SEQUENCE]], %[[ONE]]
// CHECK: %[[HALF:.+]] = arith.constant 32 : index
// CHECK: %[[UPPER:.+]] = arith.shli %[[NEXT]], %[[HALF]]
// CHECK: %[[BOTH:.+]] = arith.ori %[[TASK]], %[[UPPER]]
// CHECK: func.call @ark_report_index(%[[STATUS]], %[[INDEX]], %[[BOUND]], %[[BOTH]])
func.func private @body_sequence(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %index: index, %bound: index, %sequence: index) -> index {
  %valid = ark.check_index %index below %bound sequence %sequence
  return %valid : index
}

// -----

// Stores are skipped later, when they are single ops.
// CHECK-LABEL: func.func private @body_stores(
// CHECK-SAME: %[[INDEX:[^:]+]]: index, %[[BOUND:[^:]+]]: index) -> index
// CHECK: %[[VALID:.+]] = ark.store_index %[[INDEX]] below %[[BOUND]]
// CHECK-NEXT: scf.if
// CHECK: return %[[VALID]]
func.func private @body_stores(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %index: index, %bound: index) -> index {
  %valid = ark.check_index %index below %bound {stores}
  return %valid : index
}

// -----

// The module declares the function once.
// CHECK-LABEL: func.func private @body_twice(
// CHECK-COUNT-2: func.call @ark_report_index
// CHECK-COUNT-1: func.func private @ark_report_index
// CHECK-NOT: func.func
func.func private @body_twice(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %m: memref<8xf32>, %i: index, %j: index) -> f32 {
  %c8 = arith.constant 8 : index
  %0 = ark.check_index %i below %c8
  %1 = ark.check_index %j below %c8
  %2 = memref.load %m[%0] : memref<8xf32>
  %3 = memref.load %m[%1] : memref<8xf32>
  %4 = arith.addf %2, %3 : f32
  return %4 : f32
}

// -----

// The pass uses the kernel's function if the module has it.
// CHECK-LABEL: module @reporterIsThere
// CHECK-NEXT: func.func private @ark_report_index({{.+}} {
// CHECK: func.func private @body_gather(
// CHECK: linalg.generic
// CHECK: scf.if
// CHECK-NEXT: func.call @ark_report_index(
// CHECK-NOT: func.func
module @reporterIsThere {
func.func private @ark_report_index(%status: memref<4xi64>, %index: index, %bound: index, %task: index) {
  return
}
func.func private @body_gather(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %ids: memref<4xi32>, %table: memref<8xf32>, %out: memref<4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      ins(%ids : memref<4xi32>) outs(%out : memref<4xf32>) {
  ^bb0(%id: i32, %o: f32):
    %c8 = arith.constant 8 : index
    %i = arith.index_cast %id : i32 to index
    %valid = ark.check_index %i below %c8
    %value = memref.load %table[%valid] : memref<8xf32>
    linalg.yield %value : f32
  }
  return
}
}
