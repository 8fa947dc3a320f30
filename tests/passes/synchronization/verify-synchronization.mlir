// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics -o /dev/null

// Lanes of one SM synchronise like lanes of different SMs.
ark.program @lanesOfOneSm(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @a arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 4] {
      ark.run "a" [0, 2]
      ark.signal @a
      ark.barrier @end
    }
    ark.lane sms = [0, 1] warps = [4, 8] {
      ark.wait @a
      ark.run "b" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The signals of a lane also release what the lane has acquired.
ark.program @orderThroughAThirdLane(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 3 {
    ark.semaphore @first arrivals = 1
    ark.semaphore @second arrivals = 1
    ark.semaphore @end arrivals = 3
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 2]
      ark.signal @first
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @first
      ark.signal @second
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @second
      ark.run "b" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Independent vCTAs may run in any order.
ark.program @programOrderIsNotLaneOrder(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins() outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "b" [1, 2]
      ark.run "a" [0, 2]
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @disjointHalvesOfTheArena(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 32 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<64xi8> to memref<8xf32>
  ark.task "a" grid [2] ins() outs(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins() outs(%u[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 2]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "b" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// No lane reaches its next signal before the barrier has counted all arrivals.
ark.program @barrierAlsoSignalledElsewhere(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 3
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 2]
      ark.signal @end
      ark.run "b" [0, 2]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// An update may read elements that the same vCTA writes.
ark.program @sliceThatIsUpdated(%s: memref<12xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %part = memref.reinterpret_cast %s to offset: [4], sizes: [8], strides: [1]
    : memref<12xf32> to memref<8xf32, strided<[1], offset: 4>>
  ark.task "update" grid [2]
      ins(%part[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32, strided<[1], offset: 4>>)
      outs(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : memref<12xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "test" sms = 2 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 2] warps = [0, 1] {
      ark.run "update" [d0, d0 + 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// vCTAs that depend on each other are ordered if each has a work item of its own.
ark.program @dependentVCTAsInWorkItemsOfTheirOwn(%s: memref<12xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  ark.task "shift" grid [2] ins(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<12xf32>) outs(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : memref<12xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "shift" [0, 1]
      ark.run "shift" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// A vCTA may write bytes that it reads, if no other vCTA of its work item touches them.
ark.program @independentVCTAsOfOneWorkItem(%s: memref<12xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  ark.task "update" grid [3] ins(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<12xf32>) outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<12xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "update" [0, 3]
      ark.barrier @end
    }
  }
  ark.return
}
