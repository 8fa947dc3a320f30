// RUN: not ark-opt %s --ark-compile-to=target --ark-target=cpu 2>&1 | FileCheck %s
// RUN: not ark-opt %s --ark-compile-to=graph 2>&1 | FileCheck %s
// CHECK: error: the module has no ark.program, so there is nothing to compile
// The text of the module would hide the error.
// CHECK-NOT: see current operation
func.func @f() {
  return
}
