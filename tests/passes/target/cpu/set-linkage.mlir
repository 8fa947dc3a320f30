// RUN: ark-opt %s --split-input-file --ark-set-linkage | FileCheck %s

// CHECK-LABEL: ark.kernel @onlyTheEntryIsVisible
ark.kernel @onlyTheEntryIsVisible {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body_relu, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}
// CHECK: llvm.func @ark_kernel() {
llvm.func @ark_kernel() {
  llvm.return
}
// A body keeps a frame of its own; a profile names it.
// CHECK: llvm.func internal @body_relu() attributes {no_inline, sym_visibility = "private"} {
llvm.func @body_relu() {
  llvm.return
}
// What is no body may be inlined.
// CHECK: llvm.func internal @ark_run() attributes {sym_visibility = "private"} {
llvm.func @ark_run() {
  llvm.return
}
// What is only declared comes from another library.
// CHECK: llvm.func @nanosleep(){{$}}
llvm.func @nanosleep()

// -----

// Modules without a kernel may be linked to others.
// CHECK-LABEL: module @noKernel
// CHECK: llvm.func @anyFunction() {
module @noKernel {
  llvm.func @anyFunction() {
    llvm.return
  }
}
