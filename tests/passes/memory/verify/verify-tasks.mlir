// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-verify-tasks))' | FileCheck %s

// The pass checks tasks of a program with a schedule, which `ark-verify-memory`
// does not accept.
// CHECK-LABEL: ark.program @copy
// CHECK: ark.schedule "hand"
ark.program @copy(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 8] {
      ark.run "t" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
