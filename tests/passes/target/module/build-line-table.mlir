// RUN: ark-opt %s --pass-pipeline="builtin.module(gpu.module(ark-build-line-table))" \
// RUN:   --mlir-print-debuginfo --mlir-print-local-scope | FileCheck %s

// Each op of a body gets one entry of the line table.
// CHECK-LABEL: gpu.module @names_and_lines attributes {ark.line_table = [
// CHECK-SAME: ["ark_dispatch_loop", "Kernel.mlir", 30, 1],
// CHECK-SAME: ["body_mul_add", "model.py", 7, 5],
// CHECK-SAME: ["fc1", "model.py", 7, 5],
// CHECK-SAME: ["bias", "model.py", 8, 9],
// CHECK-SAME: ["ark_kernel", "Kernel.mlir", 1, 1]]}
gpu.module @names_and_lines {
  // CHECK: llvm.func @ark_dispatch_loop
  llvm.func @ark_dispatch_loop() {
    %zero = llvm.mlir.constant(0 : i32) : i32 loc("Kernel.mlir":31:1)
    llvm.br ^next(%zero : i32) loc("Kernel.mlir":32:1)
  // Block arguments have locations, too, since LLVM emits instructions for them.
  // CHECK: ^bb1(%{{.+}}: i32 loc("ark-lines":1:0)):
  ^next(%number: i32 loc("Kernel.mlir":33:1)):
    // CHECK: llvm.return loc("ark-lines":1:0)
    llvm.return loc("Kernel.mlir":34:1)
  } loc("Kernel.mlir":30:1)
  // CHECK: llvm.func @body_mul_add
  llvm.func @body_mul_add(%x: f32) -> f32 {
    // CHECK-NEXT: llvm.fmul {{.*}} loc("ark-lines":3:0)
    %product = llvm.fmul %x, %x : f32 loc("fc1"(callsite("model.py":7:5 at "model.py":20:1)))
    // CHECK-NEXT: llvm.fadd {{.*}} loc("ark-lines":4:0)
    %sum = llvm.fadd %product, %x : f32 loc("bias"("model.py":8:9))
    // CHECK-NEXT: llvm.fmul {{.*}} loc("ark-lines":3:0)
    %twice = llvm.fmul %sum, %x : f32 loc(fused["fc1"("model.py":7:5), "bias"("model.py":8:9)])
    // An op without a location gets the entry of its body.
    // CHECK-NEXT: llvm.return {{.*}} loc("ark-lines":2:0)
    llvm.return %twice : f32 loc(unknown)
  // CHECK: loc(fused<#llvm.di_subprogram<{{.*}}name = "body_mul_add"{{.*}}line = 2, scopeLine = 2{{.*}}>["ark-lines":2:0])
  } loc("fc1"("model.py":7:5))
  // CHECK: llvm.func @ark_kernel
  llvm.func @ark_kernel() attributes {nvvm.kernel} {
    llvm.return loc("Kernel.mlir":2:1)
  } loc("Kernel.mlir":1:1)
}

// Functions that bodies call have no scope: after inlining, their code belongs to the caller.
// CHECK-LABEL: gpu.module @helpers attributes {ark.line_table = [
// CHECK-SAME: ["ark_kernel", "Kernel.mlir", 1, 1],
// CHECK-SAME: ["body_copy", "model.py", 3, 1],
// CHECK-SAME: ["copy", "model.py", 3, 1]]}
gpu.module @helpers {
  llvm.func @ark_kernel() attributes {nvvm.kernel} {
    llvm.return
  } loc("Kernel.mlir":1:1)
  // CHECK: llvm.func @outer()
  // CHECK-NOT: di_subprogram
  llvm.func @outer() {
    llvm.call @inner() : () -> ()
    llvm.return
  } loc("Kernel.mlir":5:1)
  llvm.func @inner() {
    llvm.return
  } loc("Kernel.mlir":8:1)
  // CHECK: llvm.func @body_copy()
  llvm.func @body_copy() {
    llvm.call @outer() : () -> () loc("copy"("model.py":3:1))
    llvm.return
  // CHECK: name = "body_copy"
  } loc("copy"("model.py":3:1))
}
