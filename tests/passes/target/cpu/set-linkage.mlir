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
// A body is not inlined, so that profiles show its name.
// CHECK: llvm.func internal @body_relu() attributes {no_inline, sym_visibility = "private"} {
llvm.func @body_relu() {
  llvm.return
}
// Other functions may be inlined.
// CHECK: llvm.func internal @ark_execute_work_item() attributes {sym_visibility = "private"} {
llvm.func @ark_execute_work_item() {
  llvm.return
}
// A declaration refers to another library.
// CHECK: llvm.func @nanosleep(){{$}}
llvm.func @nanosleep()

// -----

// The functions of a module without a kernel stay visible to other modules.
// CHECK-LABEL: module @noKernel
// CHECK: llvm.func @anyFunction() {
module @noKernel {
  llvm.func @anyFunction() {
    llvm.return
  }
}
