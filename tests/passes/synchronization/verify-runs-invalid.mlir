// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

// vCTAs of one work item have no order: a target may execute them concurrently.

ark.program @readsBytesThatThePreviousVctaWrites(%s: memref<20xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // expected-note @below {{operand 1 of 'shift', region #ark.region<(d0) -> (d0 * 4 + 4), [4]>}}
  // expected-note @below {{operand 0 of 'shift', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "shift" grid [4] ins(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<20xf32>) outs(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : memref<20xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{RAW hazard: vCTA 1 of 'shift' on SM 0 reads bytes [16, 32) of 's' in the same work item as vCTA 0 of 'shift' on SM 0, which writes them}}
      // expected-note @below {{vCTAs of one work item have no order; work items of a lane do}}
      ark.run "shift" [0, 4]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @writesBytesThatThePreviousVctaReads(%s: memref<20xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // expected-note @below {{operand 0 of 'shift'}}
  // expected-note @below {{operand 1 of 'shift'}}
  ark.task "shift" grid [4] ins(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : memref<20xf32>) outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<20xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "shift" [0, 1]
      // expected-error @below {{WAR hazard: vCTA 2 of 'shift' on SM 0 writes bytes [32, 48) of 's' in the same work item as vCTA 1 of 'shift' on SM 0, which reads them}}
      // expected-note @below {{vCTAs of one work item have no order}}
      ark.run "shift" [1, 4]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @twoVctasWriteTheSameBytes(%s: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // expected-note @below {{operand 0 of 'update'}}
  ark.task "update" grid [3] ins() outs(%s[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "update" [0, 1]
      // expected-error @below {{WAW hazard: vCTA 2 of 'update' on SM 0 writes bytes [0, 32) of 's' in the same work item as vCTA 1 of 'update' on SM 0, which writes them}}
      // expected-note @below {{vCTAs of one work item have no order}}
      ark.run "update" [1, 3]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// All vCTAs read the bytes that the first vCTA reads and writes.
ark.program @readsBytesThatThePreviousVctaReadsAndWrites(
    %s: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // expected-note @below {{operand 1 of 'a'}}
  // expected-note @below {{operand 0 of 'a'}}
  ark.task "a" grid [2] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<8xf32>) outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{RAW hazard: vCTA 1 of 'a' on SM 0 reads bytes [0, 16) of 's' in the same work item as vCTA 0 of 'a' on SM 0, which writes them}}
      // expected-note @below {{vCTAs of one work item have no order}}
      ark.run "a" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Two vCTAs read a byte, and the second one writes it.
ark.program @writesBytesThatBothVctasRead(
    %s: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  // expected-note @below {{operand 0 of 'a'}}
  // expected-note @below {{operand 1 of 'a'}}
  ark.task "a" grid [2] ins(%s[#ark.region<(d0) -> (4), [4]>] : memref<8xf32>) outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{WAR hazard: vCTA 1 of 'a' on SM 0 writes bytes [16, 32) of 's' in the same work item as vCTA 0 of 'a' on SM 0, which reads them}}
      // expected-note @below {{vCTAs of one work item have no order}}
      ark.run "a" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The operands differ, but their views of the arena share bytes.
ark.program @operandsOfOneBuffer(%y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  %u = memref.view %arena[%c0][] : memref<64xi8> to memref<32xf16>
  ark.task "fill" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 1 of 'a'}}
  // expected-note @below {{operand 0 of 'a'}}
  ark.task "a" grid [4] ins(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<16xf32>) outs(%u[#ark.region<(d0) -> (d0 * -8 + 24), [8]>] : memref<32xf16>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<8xf16, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "fill" [0, 1]
      // expected-error @below {{RAW hazard: vCTA 2 of 'a' on SM 0 reads bytes [32, 48) of the arena in the same work item as vCTA 1 of 'a' on SM 0, which writes them}}
      // expected-note @below {{vCTAs of one work item have no order}}
      ark.run "a" [0, 4]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The writes of two vCTAs overlap, and the task is not `in_place`.
ark.program @task_c6(%x: memref<9xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-error @below {{vCTA 1 of 'a' on SM 1 writes bytes [16, 20) of 'x', which vCTA 0 of 'a' on SM 0 writes; only a task that updates them in place may (task_c6)}}
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (d0 * 4), [5]>}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [5]>] : memref<9xf32>) {
  ^bb0(%i: index, %a: memref<5xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @first arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.signal @first
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @first
      ark.run "a" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The writes overlap through two outs.
ark.program @task_c6_twoOuts(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-error @below {{vCTA 1 of 'a' on SM 0 writes bytes [16, 32) of 'x', which vCTA 0 of 'a' on SM 0 writes; only a task that updates them in place may (task_c6)}}
  // expected-note @below {{operand 1 of 'a'}}
  // expected-note @below {{operand 0 of 'a'}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>, %x[#ark.region<(d0) -> (d0 * -4 + 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.run "a" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// An out that an `in_place` task does not read is not an update, so its writes must not overlap.
ark.program @task_c6_freshOut(
    %s: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-error @below {{writes bytes [0, 32) of 'x', which vCTA 0 of 'a' on SM 0 writes; only a task that updates them in place may (task_c6)}}
  // expected-note @below {{operand 1 of 'a'}}
  ark.task "a" grid [2] ins() outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>, %x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place, fresh_outs = array<i64: 1>} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.run "a" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// All vCTAs of a work item may poll before any of them sends, so packets within a work item may never arrive.
ark.program @packetsWithinAWorkItem(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %packets[%c0][] : memref<64xi8> to memref<12xi32>
  ark.task "first" grid [1] ins() outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<12xi32>) {
  ^bb0(%i: index, %a: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "a" grid [2] ins(%p[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<12xi32>) outs(%p[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : memref<12xi32>) {
  ^bb0(%i: index, %a: memref<4xi32, strided<[1], offset: ?>>, %b: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "first" [0, 1]
      // expected-error @below {{never ends (deadlock): SM 0 waits for packets before it runs vCTAs [0, 2) of 'a'}}
      // expected-note @below {{SM 0 sends them when it runs vCTAs [0, 2) of 'a'}}
      // expected-note @below {{but before that, SM 0 waits for packets before it runs vCTAs [0, 2) of 'a'}}
      ark.run "a" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}
