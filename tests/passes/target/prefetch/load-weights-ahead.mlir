// RUN: ark-opt %s --split-input-file --ark-load-weights-ahead | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-load-weights-ahead=max-registers=3 | FileCheck %s --check-prefix=FEW

// The weights of the first step are loaded before the call that receives packets, by threads that have a row. Each
// step loads the weights of the next step after its activations. The last step of a row loads the first weights of
// the next row, and the last step of all loads nothing.
// CHECK-LABEL: func.func @body(
// CHECK-SAME: index, %[[END:[^:]+]]: index, %{{[^:]+}}: index, %{{[^:]+}}: memref<4xi64>, %[[X:[^:]+]]: memref<1x4096xbf16>{{.*}}, %[[W:[^:]+]]: memref<64x4096xbf16>
// CHECK: %[[HAS_ROW:.+]] = arith.cmpi slt
// CHECK: %[[FIRST:.+]] = scf.if %[[HAS_ROW]] -> (vector<8xbf16>) {
// CHECK: %[[LOADED:.+]] = vector.load %[[W]]{{.*}} {alignment = 16 : i64, nontemporal = true}
// CHECK: scf.yield %[[LOADED]]
// CHECK: call @receive()
// CHECK: scf.for %[[ROW:.+]] = %{{.+}} to %[[END]] step %[[ROW_STEP:.+]] iter_args(%[[AT_ROW:.+]] = %[[FIRST]])
// CHECK: %[[SUM:.+]]:2 = scf.for %[[K:.+]] = %[[BEGIN:.+]] to %[[K_END:.+]] step %[[STEP:[^ ]+]] iter_args(%{{.+}} = %{{.+}}, %[[CURRENT:.+]] = %[[AT_ROW]])
// CHECK: vector.load %[[X]][
// CHECK-NEXT: %[[NEXT_K:.+]] = arith.addi %[[K]], %[[STEP]]
// CHECK-NEXT: %[[NEXT_ROW:.+]] = arith.addi %[[ROW]], %[[ROW_STEP]]
// CHECK-NEXT: %[[STAYS:.+]] = arith.cmpi slt, %[[NEXT_K]], %[[K_END]]
// CHECK-NEXT: %[[HAS:.+]] = arith.cmpi slt, %[[NEXT_ROW]], %[[END]]
// CHECK-NEXT: %[[ANY:.+]] = arith.ori %[[STAYS]], %[[HAS]]
// CHECK-NEXT: %[[NEXT:.+]] = scf.if %[[ANY]]
// CHECK: %[[LOAD_ROW:.+]] = arith.select %[[STAYS]], %[[ROW]], %[[NEXT_ROW]]
// CHECK: %[[LOAD_K:.+]] = arith.select %[[STAYS]], %[[NEXT_K]]
// CHECK: %[[AHEAD:.+]] = vector.load %[[W]][%[[LOAD_ROW]], %[[LOAD_K]]] {alignment = 16 : i64, nontemporal = true}
// CHECK-NEXT: scf.yield %[[AHEAD]]
// CHECK-NEXT: } else {
// CHECK-NEXT: scf.yield %[[CURRENT]]
// CHECK-NOT: vector.load
// CHECK: arith.mulf %{{.+}}, %[[CURRENT]]
// CHECK: scf.yield %{{.+}}, %[[NEXT]]
// CHECK: scf.yield %[[SUM]]#1

// Weights that take too many registers stay where they are.
// FEW-LABEL: func.func @body(
// FEW-NOT: nontemporal
// FEW: call @receive()
// FEW-NOT: scf.if
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 2 : i64}], buffers = [{kind = "input"}, {kind = "parameter"}], tasks = [{}],
    operands = dense<[[1, 0], [2, 0]]> : tensor<2x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @receive()
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %x: memref<1x4096xbf16> {llvm.align = 16 : i64}, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c4 = arith.constant 4 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  call @receive() : () -> ()
  %thread = gpu.thread_id x
  scf.for %row = %thread to %end step %c4 {
    %k_begin = arith.muli %row, %c0 : index
    %k_end = arith.addi %k_begin, %c4096 : index
    %sum = scf.for %k = %k_begin to %k_end step %c512 iter_args(%s = %zero) -> (vector<8xbf16>) {
      %b = vector.load %w[%row, %k] {alignment = 16 : i64} : memref<64x4096xbf16>, vector<8xbf16>
      %a = vector.load %x[%c0, %k] {alignment = 16 : i64} : memref<1x4096xbf16>, vector<8xbf16>
      %p = arith.mulf %a, %b : vector<8xbf16>
      %t = arith.addf %s, %p : vector<8xbf16>
      scf.yield %t : vector<8xbf16>
    }
    vector.store %sum, %x[%c0, %row] : memref<1x4096xbf16>, vector<8xbf16>
  }
  return
}

// -----

// Inputs of a task, such as a state, may change during a launch.
// CHECK-LABEL: func.func @body(
// CHECK-NOT: scf.if
// CHECK-NOT: nontemporal
// CHECK: return
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [{kind = "state"}], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  scf.for %row = %c0 to %end step %c1 {
    %sum = scf.for %k = %c0 to %c4096 step %c512 iter_args(%s = %zero) -> (vector<8xbf16>) {
      %b = vector.load %w[%row, %k] {alignment = 16 : i64} : memref<64x4096xbf16>, vector<8xbf16>
      %t = arith.addf %s, %b : vector<8xbf16>
      scf.yield %t : vector<8xbf16>
    }
    vector.store %sum, %w[%row, %c0] : memref<64x4096xbf16>, vector<8xbf16>
  }
  return
}

// -----

// A row may have no step.
// CHECK-LABEL: func.func @body(
// CHECK-NOT: scf.if
// CHECK-NOT: nontemporal
// CHECK: return
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [{kind = "parameter"}], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  scf.for %row = %c0 to %end step %c1 {
    %sum = scf.for %k = %c0 to %begin step %c512 iter_args(%s = %zero) -> (vector<8xbf16>) {
      %b = vector.load %w[%row, %k] {alignment = 16 : i64} : memref<64x4096xbf16>, vector<8xbf16>
      %t = arith.addf %s, %b : vector<8xbf16>
      scf.yield %t : vector<8xbf16>
    }
    vector.print %sum : vector<8xbf16>
  }
  return
}

// -----

// An address depends on a value that the loop carries.
// CHECK-LABEL: func.func @body(
// CHECK-NOT: scf.if
// CHECK-NOT: nontemporal
// CHECK: return
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [{kind = "parameter"}], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  scf.for %row = %c0 to %end step %c1 {
    %last = scf.for %k = %c0 to %c4096 step %c512 iter_args(%at = %c0) -> (index) {
      %b = vector.load %w[%row, %at] {alignment = 16 : i64} : memref<64x4096xbf16>, vector<8xbf16>
      vector.print %b : vector<8xbf16>
      %next = arith.addi %at, %k : index
      scf.yield %next : index
    }
  }
  return
}

// -----

// All rows share the weights, so caches should keep them.
// CHECK-LABEL: func.func @body(
// CHECK-NOT: scf.if
// CHECK-NOT: nontemporal
// CHECK: return
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [{kind = "parameter"}], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  scf.for %row = %c0 to %end step %c1 {
    %sum = scf.for %k = %c0 to %c4096 step %c512 iter_args(%s = %zero) -> (vector<8xbf16>) {
      %b = vector.load %w[%c0, %k] {alignment = 16 : i64} : memref<64x4096xbf16>, vector<8xbf16>
      %t = arith.addf %s, %b : vector<8xbf16>
      scf.yield %t : vector<8xbf16>
    }
    vector.print %sum : vector<8xbf16>
  }
  return
}

// -----

// The number of rows is read from memory, where another task may have written it.
// CHECK-LABEL: func.func @body(
// CHECK-NOT: scf.if
// CHECK-NOT: nontemporal
// CHECK: return
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [{kind = "parameter"}], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  %rows_i64 = memref.load %status[%c0] : memref<4xi64>
  %rows = arith.index_cast %rows_i64 : i64 to index
  scf.for %row = %c0 to %rows step %c1 {
    %sum = scf.for %k = %c0 to %c4096 step %c512 iter_args(%s = %zero) -> (vector<8xbf16>) {
      %b = vector.load %w[%row, %k] {alignment = 16 : i64} : memref<64x4096xbf16>, vector<8xbf16>
      %t = arith.addf %s, %b : vector<8xbf16>
      scf.yield %t : vector<8xbf16>
    }
    vector.print %sum : vector<8xbf16>
  }
  return
}

// -----

// The same loop with a known number of rows: its weights are loaded ahead.
// CHECK-LABEL: func.func @body(
// CHECK: scf.if
// CHECK: vector.load {{.*}}nontemporal = true
// CHECK: scf.for
// CHECK: vector.load {{.*}}nontemporal = true
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [{kind = "parameter"}], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  scf.for %row = %c0 to %end step %c1 {
    %sum = scf.for %k = %c0 to %c4096 step %c512 iter_args(%s = %zero) -> (vector<8xbf16>) {
      %b = vector.load %w[%row, %k] {alignment = 16 : i64} : memref<64x4096xbf16>, vector<8xbf16>
      %t = arith.addf %s, %b : vector<8xbf16>
      scf.yield %t : vector<8xbf16>
    }
    vector.print %sum : vector<8xbf16>
  }
  return
}

// -----

// The first element of a row depends on the row, and a vector is indexed by elements.
// CHECK-LABEL: func.func @body(
// CHECK: scf.if
// CHECK: vector.load {{.*}}nontemporal = true
// CHECK: scf.for
// CHECK: vector.load {{.*}}nontemporal = true
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64, bodies = [{function = @body, operands = 1 : i64}], buffers = [{kind = "parameter"}], tasks = [{}],
    operands = dense<[[1, 0]]> : tensor<1x2xi64>, task_table = dense<[[0, 0]]> : tensor<1x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>, %w: memref<64x4096xbf16> {llvm.align = 16 : i64}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c512 = arith.constant 512 : index
  %c4096 = arith.constant 4096 : index
  %zero = arith.constant dense<0.0> : vector<8xbf16>
  %flat = memref.collapse_shape %w [[0, 1]] : memref<64x4096xbf16> into memref<262144xbf16>
  scf.for %row = %c0 to %end step %c1 {
    %first = arith.muli %row, %c4096 : index
    %last = arith.addi %first, %c4096 : index
    %sum = scf.for %k = %first to %last step %c512 iter_args(%s = %zero) -> (vector<8xbf16>) {
      %b = vector.load %flat[%k] {alignment = 16 : i64} : memref<262144xbf16>, vector<8xbf16>
      %t = arith.addf %s, %b : vector<8xbf16>
      scf.yield %t : vector<8xbf16>
    }
    vector.print %sum : vector<8xbf16>
  }
  return
}
