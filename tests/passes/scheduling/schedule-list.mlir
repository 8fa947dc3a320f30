// RUN: ark-opt %s --split-input-file --ark-schedule-list --ark-verify-scheduling | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-schedule --ark-verify-scheduling | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 2, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// Tasks on the critical path go first, the others fill the gaps.
// CHECK-LABEL: ark.program @criticalTasksFirst
// CHECK: ark.schedule "list" sms = 2 predicted_ns = {{[0-9]+}} {
// CHECK-NEXT: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "head" [0, 1]
// CHECK-NEXT: ark.run "tail" [0, 1]
// CHECK: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.run "free" [0, 1]
// CHECK-NOT: ark.run
ark.program @criticalTasksFirst(
    %x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "free" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "head" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "tail" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3, warps = 1,
    shared_memory = 0, bandwidth = 3, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// Each vCTA of the second task is on the SM that computes its input.
// CHECK-LABEL: ark.program @inputsStayWhereTheyAre
// CHECK: ark.lane sms = [0, 3]
// CHECK-NEXT: ark.run "a" [d0, d0 + 1]
// CHECK-NEXT: ark.run "b" [-d0 + 2, -d0 + 3]
ark.program @inputsStayWhereTheyAre(
    %x: memref<3xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<3xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [3] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<3xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [3] ins(%x[#ark.region<(d0) -> (2 - d0), [1]>] : memref<3xf32>)
      outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<3xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3, warps = 1,
    shared_memory = 0, bandwidth = 3, flops = 100, handoff = 1000, barrier = 2000, overhead = 10>} {
// A hand-off costs more than all of the work.
// CHECK-LABEL: ark.program @littleWorkStaysTogether
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "a" [0, 6]
// CHECK-NEXT: ark.run "b" [0, 1]
// CHECK-NOT: ark.lane
ark.program @littleWorkStaysTogether(
    %x: memref<6xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<6xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [6] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<6xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [6]>] : memref<6xf32>)
      outs(%y[#ark.region<(d0) -> (0), [6]>] : memref<6xf32>) {
  ^bb0(%i: index, %a: memref<6xf32, strided<[1], offset: ?>>, %b: memref<6xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 1,
    shared_memory = 0, bandwidth = 2, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// While SM 0 executes a task of one vCTA, SM 1 executes tasks without dependences.
// CHECK-LABEL: ark.program @idleTimeIsFilled
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "single" [0, 1]
// CHECK-NEXT: ark.run "wide" [0, 4]
// CHECK: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.run "filler" [0, 2]
// CHECK-NEXT: ark.run "wide" [4, 8]
ark.program @idleTimeIsFilled(
    %x: memref<256xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<2xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "single" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [256]>] : memref<256xf32>) {
  ^bb0(%i: index, %a: memref<256xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "wide" grid [8] ins(%x[#ark.region<(d0) -> (0), [1]>] : memref<256xf32>)
      outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "filler" grid [2] ins() outs(%z[#ark.region<(d0) -> (d0), [1]>] : memref<2xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3, warps = 1,
    shared_memory = 0, bandwidth = 3, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// On several lanes, vCTAs that overwrite each other's bytes would only wait for each other. vCTAs of one work
// item have no order, so each vCTA has a work item of its own.
// CHECK-LABEL: ark.program @dependentVCTAsStayTogether
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "update" [0, 1]
// CHECK-NEXT: ark.run "update" [1, 2]
// CHECK-NEXT: ark.run "update" [2, 3]
// CHECK-NOT: ark.lane
ark.program @dependentVCTAsStayTogether(%s: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  ark.task "update" grid [3] ins() outs(%s[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
