// A module that enters after the memory stage is checked, too: its tasks have a
// schedule, and the kernel stage begins with the pass.
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-verify-tasks))' --verify-diagnostics
// RUN: ark-opt %s --split-input-file --ark-target=cpu:2 --ark-compile-from=kernel --ark-compile-to=kernel --verify-diagnostics

ark.program @viewOutsideOfTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %f = memref.load %a[%c0] : memref<16xf32, strided<[1], offset: ?>>
    // expected-error @below {{may address elements that 'memref<16xf32, strided<[1], offset: ?>>' does not have}}
    %v = memref.reinterpret_cast %b to offset: [100000000], sizes: [1], strides: [1] : memref<16xf32, strided<[1], offset: ?>> to memref<1xf32, strided<[1], offset: 100000000>>
    memref.store %f, %v[%c0] : memref<1xf32, strided<[1], offset: 100000000>>
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

// -----

ark.program @writeToAnInput(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    // expected-error @below {{writes to an input of its task}}
    linalg.fill ins(%f : f32) outs(%a : memref<16xf32, strided<[1], offset: ?>>)
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

// -----

ark.program @writeToAParameter(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "y"}) {
  // expected-error @below {{operand 1 writes to an argument that is neither output nor state}}
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
