// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(ark-reload-operands{min-operands=3}))' | FileCheck %s
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(ark-reload-operands{min-operands=4}))' | FileCheck %s --check-prefix=FEW

// FEW-NOT: llvm.call @ark_operand(%arg{{[5-9]}}
gpu.module @kernel {
  llvm.func @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr

  // An operand that a loop reads, as an address or as a number, is looked up at the start of each vCTA,
  // before the loop. The address of the result is looked up behind the loop, before its first store.
  // CHECK-LABEL: llvm.func internal @body(
  // CHECK-SAME: %[[CONTEXT:arg[0-9]+]]: !llvm.ptr, %[[FIRST:arg[0-9]+]]: i64)
  // CHECK: llvm.br ^[[VCTA:.+]](
  // CHECK: ^[[VCTA]](
  // CHECK: %[[ZERO:.+]] = llvm.mlir.constant(0 : i64) : i64
  // CHECK: %[[X:.+]] = llvm.add %[[FIRST]], %[[ZERO]] : i64
  // CHECK: %[[READ:.+]] = llvm.call @ark_operand(%[[CONTEXT]], %[[X]])
  // CHECK: %[[ONE:.+]] = llvm.mlir.constant(1 : i64) : i64
  // CHECK: %[[W:.+]] = llvm.add %[[FIRST]], %[[ONE]] : i64
  // CHECK: %[[NUMBER:.+]] = llvm.call @ark_operand(%[[CONTEXT]], %[[W]])
  // CHECK: llvm.cond_br
  // CHECK: %[[FROM:.+]] = llvm.getelementptr %[[READ]][%{{.+}}]
  // CHECK: llvm.load %[[FROM]]
  // CHECK: llvm.ptrtoint %[[NUMBER]]
  // CHECK: llvm.cond_br
  // CHECK: %[[TWO:.+]] = llvm.mlir.constant(2 : i64) : i64
  // CHECK: %[[Y:.+]] = llvm.add %[[FIRST]], %[[TWO]] : i64
  // CHECK: %[[ADDRESS:.+]] = llvm.call @ark_operand(%[[CONTEXT]], %[[Y]])
  // CHECK: %[[ELEMENT:.+]] = llvm.getelementptr %[[ADDRESS]][%{{.+}}]
  // CHECK: llvm.store %{{.+}}, %[[ELEMENT]]
  // CHECK: llvm.store %{{.+}}, %[[ADDRESS]]
  llvm.func internal @body(%begin: i64, %end: i64, %x: !llvm.ptr, %w: !llvm.ptr, %y: !llvm.ptr {llvm.noalias}) {
    %one = llvm.mlir.constant(1 : i64) : i64
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.br ^vcta(%begin : i64)
  ^vcta(%v: i64):
    %more = llvm.icmp "slt" %v, %end : i64
    llvm.cond_br %more, ^sum(%v, %zero : i64, f32), ^finish
  ^sum(%i: i64, %s: f32):
    %from = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %a = llvm.load %from : !llvm.ptr -> f32
    %number = llvm.ptrtoint %w : !llvm.ptr to i64
    %t = llvm.fadd %s, %a : f32
    %next = llvm.add %i, %one : i64
    %again = llvm.icmp "slt" %next, %number : i64
    llvm.cond_br %again, ^sum(%next, %t : i64, f32), ^store
  ^store:
    %element = llvm.getelementptr %y[%v] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %t, %element : f32, !llvm.ptr
    llvm.store %t, %y : f32, !llvm.ptr
    %after = llvm.add %v, %one : i64
    llvm.br ^vcta(%after : i64)
  ^finish:
    llvm.return
  }

  // CHECK-LABEL: llvm.func internal @ark_execute_work_item
  // CHECK: llvm.call @body(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %arg0, %arg1)
  // FEW-LABEL: llvm.func internal @ark_execute_work_item
  // FEW: llvm.call @body(%{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}})
  llvm.func internal @ark_execute_work_item(%context: !llvm.ptr, %first: i64) {
    %one = llvm.mlir.constant(1 : i64) : i64
    %two = llvm.mlir.constant(2 : i64) : i64
    %x = llvm.call @ark_operand(%context, %first) : (!llvm.ptr, i64) -> !llvm.ptr
    %second = llvm.add %first, %one : i64
    %w = llvm.call @ark_operand(%context, %second) : (!llvm.ptr, i64) -> !llvm.ptr
    %third = llvm.add %first, %two : i64
    %y = llvm.call @ark_operand(%context, %third) : (!llvm.ptr, i64) -> !llvm.ptr
    llvm.call @body(%one, %two, %x, %w, %y) : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.return
  }
}

// -----

// These operands stay arguments: an operand that is used before the first vCTA, an operand of a body without a
// loop over vCTAs, an operand in unreachable code, an operand that is not used, and all operands of a body with
// two callers, whose entries in the table would differ.
gpu.module @kernel {
  llvm.func @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr

  // CHECK-LABEL: llvm.func internal @before(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr)
  // CHECK: llvm.load %[[X]]
  // CHECK: llvm.load %[[X]]
  llvm.func internal @before(%begin: i64, %end: i64, %x: !llvm.ptr, %w: !llvm.ptr, %y: !llvm.ptr) {
    %one = llvm.mlir.constant(1 : i64) : i64
    %all = llvm.load %x : !llvm.ptr -> f32
    llvm.br ^vcta(%begin : i64)
  ^vcta(%v: i64):
    %again = llvm.load %x : !llvm.ptr -> f32
    %after = llvm.add %v, %one : i64
    %more = llvm.icmp "slt" %after, %end : i64
    llvm.cond_br %more, ^vcta(%after : i64), ^finish
  ^finish:
    llvm.return
  }

  // The body computes one vCTA, and its loop is over something else.
  // CHECK-LABEL: llvm.func internal @keys(
  // CHECK-SAME: %[[X:[a-z0-9]+]]: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr, %{{[a-z0-9]+}}: !llvm.ptr)
  // CHECK: llvm.load %[[X]]
  llvm.func internal @keys(%begin: i64, %end: i64, %x: !llvm.ptr, %w: !llvm.ptr, %y: !llvm.ptr) {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^key(%zero : i64)
  ^key(%k: i64):
    %all = llvm.load %x : !llvm.ptr -> f32
    %after = llvm.add %k, %one : i64
    %more = llvm.icmp "slt" %after, %end : i64
    llvm.cond_br %more, ^key(%after : i64), ^finish
  ^finish:
    llvm.return
  }

  // CHECK-LABEL: llvm.func internal @unreachable(
  // CHECK-NOT: @ark_operand
  llvm.func internal @unreachable(%begin: i64, %end: i64, %x: !llvm.ptr, %w: !llvm.ptr, %y: !llvm.ptr) {
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.br ^vcta(%begin : i64)
  ^vcta(%v: i64):
    llvm.store %zero, %y : f32, !llvm.ptr
    %more = llvm.icmp "slt" %v, %end : i64
    llvm.cond_br %more, ^vcta(%end : i64), ^finish
  ^never:
    llvm.store %zero, %y : f32, !llvm.ptr
    llvm.br ^finish
  ^finish:
    llvm.return
  }

  // CHECK-LABEL: llvm.func internal @twice(
  // CHECK-NOT: @ark_operand
  llvm.func internal @twice(%begin: i64, %end: i64, %x: !llvm.ptr, %w: !llvm.ptr, %y: !llvm.ptr) {
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    llvm.store %zero, %y : f32, !llvm.ptr
    llvm.return
  }

  // CHECK-LABEL: llvm.func internal @ark_execute_work_item
  // CHECK: llvm.call @before(%{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}})
  // CHECK-COUNT-2: llvm.call @twice(%{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}})
  llvm.func internal @ark_execute_work_item(%context: !llvm.ptr, %first: i64) {
    %one = llvm.mlir.constant(1 : i64) : i64
    %two = llvm.mlir.constant(2 : i64) : i64
    %x = llvm.call @ark_operand(%context, %first) : (!llvm.ptr, i64) -> !llvm.ptr
    %second = llvm.add %first, %one : i64
    %w = llvm.call @ark_operand(%context, %second) : (!llvm.ptr, i64) -> !llvm.ptr
    %third = llvm.add %first, %two : i64
    %y = llvm.call @ark_operand(%context, %third) : (!llvm.ptr, i64) -> !llvm.ptr
    llvm.call @unreachable(%one, %two, %x, %w, %y) : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.call @keys(%one, %two, %x, %w, %y) : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.call @before(%one, %two, %x, %w, %y) : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.call @twice(%one, %two, %x, %w, %y) : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.call @twice(%one, %two, %x, %w, %y) : (i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr) -> ()
    llvm.return
  }
}
