// RUN: ark-opt %s --pass-pipeline='builtin.module(gpu.module(ark-reload-results{min-operands=3}))' | FileCheck %s
// RUN: ark-opt %s --pass-pipeline='builtin.module(gpu.module(ark-reload-results{min-operands=4}))' | FileCheck %s --check-prefix=MANY

// MANY-NOT: llvm.call @ark_operand(%arg6
gpu.module @kernel {
  llvm.func @ark_operand(%context: !llvm.ptr, %number: i64) -> !llvm.ptr

  // An address that is read through stays, and so does one that goes elsewhere. That of the result is looked up
  // in front of the first store, behind the loop.
  // CHECK-LABEL: llvm.func internal @body(
  // CHECK-SAME: %[[X:arg[0-9]+]]: !llvm.ptr, %{{.+}}: !llvm.ptr, %{{.+}}: !llvm.ptr {llvm.noalias}, %[[CONTEXT:.+]]: !llvm.ptr, %[[FIRST:.+]]: i64)
  // CHECK: llvm.cond_br
  // CHECK: llvm.cond_br
  // CHECK: %[[TWO:.+]] = llvm.mlir.constant(2 : i64) : i64
  // CHECK: %[[NUMBER:.+]] = llvm.add %[[FIRST]], %[[TWO]] : i64
  // CHECK: %[[ADDRESS:.+]] = llvm.call @ark_operand(%[[CONTEXT]], %[[NUMBER]])
  // CHECK: %[[PLACE:.+]] = llvm.getelementptr %[[ADDRESS]][%{{.+}}]
  // CHECK: llvm.store %{{.+}}, %[[PLACE]]
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
    %place = llvm.getelementptr %y[%v] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    llvm.store %t, %place : f32, !llvm.ptr
    llvm.store %t, %y : f32, !llvm.ptr
    %after = llvm.add %v, %one : i64
    llvm.br ^vcta(%after : i64)
  ^finish:
    llvm.return
  }

  // CHECK-LABEL: llvm.func internal @ark_run
  // CHECK: llvm.call @body(%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}, %arg0, %arg1)
  // MANY-LABEL: llvm.func internal @ark_run
  // MANY: llvm.call @body(%{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}}, %{{[^,]+}})
  llvm.func internal @ark_run(%context: !llvm.ptr, %first: i64) {
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
