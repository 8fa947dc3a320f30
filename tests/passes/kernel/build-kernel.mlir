// RUN: ark-opt %s --split-input-file --ark-build-kernel | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-build-kernel=trace=true | FileCheck %s --check-prefix=TRACE

// The dispatch reads the entry of the task, selects the body, and passes memrefs built from the entries
// of the operands: a buffer and an offset in bytes.
// CHECK-LABEL: ark.kernel @dispatch
// CHECK: func.func private @ark_execute_work_item(%[[CONTEXT:.+]]: !llvm.ptr, %[[TASK:.+]]: i64, %[[BEGIN:.+]]: i64, %[[END:.+]]: i64) {
// CHECK-NEXT: %[[FIELDS:.+]] = call @ark_task(%[[CONTEXT]], %[[TASK]])
// CHECK-NEXT: %[[BODY:.+]] = vector.extract %[[FIELDS]][0]
// CHECK-NEXT: %[[FIRST_I32:.+]] = vector.extract %[[FIELDS]][1]
// CHECK-NEXT: %[[FIRST:.+]] = arith.extsi %[[FIRST_I32]] : i32 to i64
// CHECK-NEXT: cf.switch %[[BODY]] : i32, [
// CHECK-NEXT:   default: ^[[RETURN:.+]],
// CHECK-NEXT:   0: ^[[A:bb[0-9]+]],
// CHECK-NEXT:   1: ^[[B:bb[0-9]+]]
// CHECK-NEXT: ]
// CHECK-NEXT: ^[[A]]:
// CHECK-NEXT: %[[FROM:.+]] = arith.index_cast %[[BEGIN]] : i64 to index
// CHECK-NEXT: %[[TO:.+]] = arith.index_cast %[[END]] : i64 to index
// CHECK-NEXT: %[[NUMBER:.+]] = arith.index_cast %[[TASK]] : i64 to index
// CHECK: %[[STATUS_FIELD:.+]] = llvm.getelementptr %[[CONTEXT]][11] : {{.+}}, i64
// CHECK-NEXT: %[[STATUS_PTR:.+]] = llvm.load %[[STATUS_FIELD]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[STATUS:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<4xi64>
// CHECK: %[[OPERAND:.+]] = arith.addi %[[FIRST]], %{{.+}} : i64
// CHECK-NEXT: %[[ADDRESS:.+]] = call @ark_operand(%[[CONTEXT]], %[[OPERAND]])
// CHECK: llvm.insertvalue %[[ADDRESS]], %{{.+}}[1]
// CHECK: %[[X:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<4x2xf32, strided<[8, 2]>>
// The second operand is in the next entry.
// CHECK: %[[ONE:.+]] = arith.constant 1 : i64
// CHECK-NEXT: %[[SECOND:.+]] = arith.addi %[[FIRST]], %[[ONE]] : i64
// CHECK-NEXT: call @ark_operand(%[[CONTEXT]], %[[SECOND]])
// CHECK: %[[Y:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<8xf16>
// CHECK-NEXT: call @body_a(%[[FROM]], %[[TO]], %[[NUMBER]], %[[STATUS]], %[[X]], %[[Y]])
// CHECK-NEXT: cf.br ^[[RETURN]]
// CHECK-NEXT: ^[[B]]:
// CHECK: call @body_b(
// CHECK-NEXT: cf.br ^[[RETURN]]
// CHECK-NEXT: ^[[RETURN]]:
// CHECK-NEXT: return
// CHECK: func.func private @ark_pause() {
// CHECK: func.func private @ark_traced() -> i1 {
// CHECK-NEXT: %[[NO:.+]] = arith.constant false
// CHECK-NEXT: return %[[NO]] : i1
// CHECK: func.func @ark_kernel(%{{.+}}: !llvm.ptr, %{{.+}}: i64) -> i32 {
// Lanes read the word with the number of the last iteration.
// CHECK: func.func private @ark_iterate(
// CHECK: %[[REPORT_FIELD:.+]] = llvm.getelementptr %{{.+}}[6] : {{.+}}, i64
// CHECK: %[[REPORT:.+]] = llvm.load %[[REPORT_FIELD]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[STOP:.+]] = llvm.getelementptr %[[REPORT]][6] : {{.+}}, i64
// CHECK: llvm.load %[[STOP]] atomic monotonic
// CHECK: call @ark_execute_work_item(
// CHECK: call @ark_stop(%{{.+}}, %[[STOP]], %{{.+}}, %{{.+}})
// The entry of a task holds its body and first operand; the entry of an operand holds a buffer and an offset.
// CHECK-LABEL: func.func private @ark_task(
// CHECK: llvm.getelementptr %{{.+}}[3]
// CHECK: llvm.load %{{.+}} {alignment = 8 : i64} : !llvm.ptr -> vector<2xi32>
// CHECK-LABEL: func.func private @ark_operand(
// CHECK: %[[BUFFERS:.+]] = llvm.load %{{.+}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.getelementptr %{{.+}}[4]
// CHECK: %[[SLOT:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK: %[[OFFSET:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i64
// CHECK: %[[FIELD:.+]] = llvm.getelementptr %[[BUFFERS]][%[[SLOT]]]
// CHECK: %[[BUFFER:.+]] = llvm.load %[[FIELD]]
// CHECK: llvm.getelementptr %[[BUFFER]][%[[OFFSET]]] : {{.+}}, i8

// TRACE-LABEL: ark.kernel @dispatch
// TRACE: func.func private @ark_traced() -> i1 {
// TRACE-NEXT: %[[YES:.+]] = arith.constant true
// TRACE-NEXT: return %[[YES]] : i1
ark.kernel @dispatch {
    entry = @ark_kernel, sms = 1 : i64, arena = 64 : i64,
    bodies = [{function = @body_a, operands = 2 : i64}, {function = @body_b, operands = 0 : i64}],
    buffers = [], tasks = [], operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
func.func private @body_a(%b: index, %e: index, %t: index, %s: memref<4xi64>, %x: memref<4x2xf32, strided<[8, 2]>>, %y: memref<8xf16>) {
  return
}
func.func private @body_b(%b: index, %e: index, %t: index, %s: memref<4xi64>) {
  return
}

// -----

// A program may have the name of a kernel function, since no op refers to a program by name.
// CHECK-LABEL: ark.kernel @ark_execute_work_item
// CHECK: func.func private @ark_execute_work_item(
// TRACE-LABEL: ark.kernel @ark_execute_work_item
ark.kernel @ark_execute_work_item {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// -----

// Without a kernel, `ark_execute_work_item` has nothing to run.
// CHECK-LABEL: module @noKernel
// CHECK-NOT: @ark_kernel
// TRACE-LABEL: module @noKernel
module @noKernel {}
