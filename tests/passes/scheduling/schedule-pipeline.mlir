// RUN: ark-opt %s --split-input-file --ark-schedule-list --ark-verify-scheduling | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=round-robin --ark-verify-scheduling | FileCheck %s --check-prefix=ROBIN

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1,
    shared_memory = 0, bandwidth = 1, flops = 100, handoff = 50, barrier = 60, overhead = 100>} {
// While rank 0 waits for rank 1, a task without a microbatch runs, and no later forward unit begins. The round-robin
// scheduler keeps the order of the program.
// CHECK-LABEL: ark.program @unitsStayInOrder
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "f0"
// CHECK-NEXT: ark.run "free"
// CHECK-NEXT: ark.run "b0"
// CHECK-NEXT: ark.run "f1"
// CHECK: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.run "next"
// ROBIN-LABEL: ark.program @unitsStayInOrder
// ROBIN: ark.lane sms = [0, 1]
// ROBIN-NEXT: ark.run "f0"
// ROBIN-NEXT: ark.run "b0"
// ROBIN-NEXT: ark.run "f1"
// ROBIN-NEXT: ark.run "free"
ark.program @unitsStayInOrder(
    %a: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/a"},
    %b: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/b"},
    %c: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/c"},
    %d: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/d"},
    %e: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/e"})
    attributes {world_size = 2} {
  ark.task "f0" grid [1] ins() outs(%a[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {microbatch = 0 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "next" grid [1] ins(%a[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%b[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {microbatch = 0 : i64, rank = 1 : i64}} {
  ^bb0(%i: index, %i0: memref<4xf32, strided<[1], offset: ?>>, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b0" grid [1] ins(%b[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%c[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {backward = true, microbatch = 0 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %i0: memref<4xf32, strided<[1], offset: ?>>, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "f1" grid [1] ins() outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {microbatch = 1 : i64, rank = 0 : i64}} {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "free" grid [1] ins() outs(%e[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1,
    shared_memory = 0, bandwidth = 1, flops = 100, handoff = 50, barrier = 60, overhead = 100>} {
// Without microbatches, any task fills the time.
// CHECK-LABEL: ark.program @noUnits
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "f0"
// CHECK-NEXT: ark.run "f1"
// CHECK-NEXT: ark.run "free"
// CHECK-NEXT: ark.run "b0"
// ROBIN-LABEL: ark.program @noUnits
ark.program @noUnits(
    %a: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/a"},
    %b: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/b"},
    %c: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/c"},
    %d: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/d"},
    %e: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/e"})
    attributes {world_size = 2} {
  ark.task "f0" grid [1] ins() outs(%a[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "next" grid [1] ins(%a[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%b[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %i0: memref<4xf32, strided<[1], offset: ?>>, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b0" grid [1] ins(%b[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%c[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %i0: memref<4xf32, strided<[1], offset: ?>>, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "f1" grid [1] ins() outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "free" grid [1] ins() outs(%e[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %o: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
