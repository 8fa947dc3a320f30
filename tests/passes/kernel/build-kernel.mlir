// RUN: ark-opt %s --split-input-file --ark-build-kernel | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-build-kernel=trace=true | FileCheck %s --check-prefix=TRACE

// The dispatch reads the task's row, picks the body, and gives it memrefs made
// of its operands' rows: a buffer and an offset in bytes.
// CHECK-LABEL: ark.kernel @dispatch
// CHECK: func.func private @ark_run(%[[CONTEXT:.+]]: !llvm.ptr, %[[TASK:.+]]: i64, %[[BEGIN:.+]]: i64, %[[END:.+]]: i64) {
// CHECK-NEXT: %[[TASKS_FIELD:.+]] = llvm.getelementptr %[[CONTEXT]][3] : {{.+}}, i64
// CHECK-NEXT: %[[TASKS:.+]] = llvm.load %[[TASKS_FIELD]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[ROW:.+]] = arith.muli %[[TASK]], %{{.+}} : i64
// CHECK-NEXT: %[[BODY_FIELD:.+]] = llvm.getelementptr %[[TASKS]][%[[ROW]]] : {{.+}}, i32
// CHECK-NEXT: %[[BODY:.+]] = llvm.load %[[BODY_FIELD]] : !llvm.ptr -> i32
// CHECK: %[[FIRST_I32:.+]] = llvm.load %{{.+}} : !llvm.ptr -> i32
// CHECK-NEXT: %[[FIRST_ROW:.+]] = arith.extsi %[[FIRST_I32]] : i32 to i64
// CHECK-NEXT: %[[FIRST:.+]] = arith.muli %[[FIRST_ROW]], %{{.+}} : i64
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
// CHECK-NEXT: %[[BUFFERS:.+]] = llvm.load %[[CONTEXT]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT: %[[OPERANDS_FIELD:.+]] = llvm.getelementptr %[[CONTEXT]][4] : {{.+}}, i64
// CHECK-NEXT: %[[OPERANDS:.+]] = llvm.load %[[OPERANDS_FIELD]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT: %[[SLOT_FIELD:.+]] = llvm.getelementptr %[[OPERANDS]][%[[FIRST]]] : {{.+}}, i64
// CHECK-NEXT: %[[SLOT:.+]] = llvm.load %[[SLOT_FIELD]] : !llvm.ptr -> i64
// CHECK-NEXT: %[[OFFSET_ROW:.+]] = llvm.getelementptr %[[OPERANDS]][%[[FIRST]]] : {{.+}}, i64
// CHECK-NEXT: %[[OFFSET_FIELD:.+]] = llvm.getelementptr %[[OFFSET_ROW]][1] : {{.+}}, i64
// CHECK-NEXT: %[[OFFSET:.+]] = llvm.load %[[OFFSET_FIELD]] : !llvm.ptr -> i64
// CHECK-NEXT: %[[BUFFER_FIELD:.+]] = llvm.getelementptr %[[BUFFERS]][%[[SLOT]]] : {{.+}}, i64
// CHECK-NEXT: %[[BUFFER:.+]] = llvm.load %[[BUFFER_FIELD]] : !llvm.ptr -> !llvm.ptr
// CHECK-NEXT: %[[ADDRESS:.+]] = llvm.getelementptr %[[BUFFER]][%[[OFFSET]]] : {{.+}}, i8
// CHECK: llvm.insertvalue %[[ADDRESS]], %{{.+}}[1]
// CHECK: %[[X:.+]] = builtin.unrealized_conversion_cast %{{.+}} to memref<4x2xf32, strided<[8, 2]>>
// The second operand is the next row.
// CHECK: %[[SECOND:.+]] = llvm.getelementptr %[[OPERANDS]][%[[FIRST]]] : {{.+}}, i64
// CHECK-NEXT: llvm.getelementptr %[[SECOND]][2] : {{.+}}, i64
// CHECK: %[[SECOND_OFFSET:.+]] = llvm.getelementptr %[[OPERANDS]][%[[FIRST]]] : {{.+}}, i64
// CHECK-NEXT: llvm.getelementptr %[[SECOND_OFFSET]][3] : {{.+}}, i64
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
// Lanes look at the word that says after how many iterations to end.
// CHECK: func.func private @ark_iterate(
// CHECK: %[[REPORT_FIELD:.+]] = llvm.getelementptr %{{.+}}[6] : {{.+}}, i64
// CHECK: %[[REPORT:.+]] = llvm.load %[[REPORT_FIELD]] : !llvm.ptr -> !llvm.ptr
// CHECK: %[[STOP:.+]] = llvm.getelementptr %[[REPORT]][6] : {{.+}}, i64
// CHECK: llvm.load %[[STOP]] atomic monotonic
// CHECK: call @ark_run(
// CHECK: call @ark_stop(%{{.+}}, %[[STOP]], %{{.+}}, %{{.+}})

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

// A program may have the name of a function of the kernel: nothing refers to a
// kernel by its program's name.
// CHECK-LABEL: ark.kernel @ark_run
// CHECK: func.func private @ark_run(
// TRACE-LABEL: ark.kernel @ark_run
ark.kernel @ark_run {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// -----

// Without a kernel there is nothing to run.
// CHECK-LABEL: module @noKernel
// CHECK-NOT: @ark_kernel
// TRACE-LABEL: module @noKernel
module @noKernel {}
