// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

// Ranks 0 and 1 have two SMs and half of the arena and of the packets each.
ark.program @unequalShares(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-error @below {{has 3 SMs, which 2 ranks do not share equally (sharing_c1)}}
  ark.schedule "hand" sms = 3 {
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @unequalArena(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  // expected-error @below {{'ark.arena' op has 129 bytes, which 2 ranks do not share equally (sharing_c1)}}
  %arena = ark.arena : memref<129xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<129xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The signal would release at the scope of a GPU.
ark.program @counterBetweenRanks(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      // expected-note @below {{rank 0 uses the semaphore here}}
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{'ark.wait' op of '@p' on SM 2 connects rank 1 with rank 0, which the kind counter does not (sharing_c2)}}
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Only SM 1 of rank 0 acquires the release with system scope. It passes data to rank 1 by a counter, with GPU scope.
ark.program @lastHopIsACounter(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  %cf = arith.constant 0 : index
  %f = memref.view %arena[%cf][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "after" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%f[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "last" grid [1] ins(%f[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @a arrivals = 1 handoff = peer
    ark.semaphore @p arrivals = 1
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @a
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @a
      ark.run "after" [0, 1]
      // expected-note @below {{rank 0 uses the semaphore here}}
      ark.signal @p
      ark.run "last" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{of '@p' on SM 2 connects rank 1 with rank 0, which the kind counter does not (sharing_c2)}}
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Only a barrier has two levels.
ark.program @barrierOfAWrongKind(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 2 handoff = peer
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      // expected-note @below {{rank 0 uses the semaphore here}}
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      // expected-error @below {{'ark.barrier' op of '@end' on SM 2 connects rank 1 with rank 0, which the kind peer does not (sharing_c2)}}
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @signalOfABarrier(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1 handoff = barrier
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      // expected-note @below {{rank 0 uses the semaphore here}}
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{of '@p' on SM 2 connects rank 1 with rank 0, which the kind barrier does not (sharing_c2)}}
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// All ranks meet at a barrier of two levels, so a lane cannot wait for its arrivals.
ark.program @meetingAndCounting(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 2 handoff = barrier
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.barrier @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{'ark.signal' op of '@p' on SM 2: a semaphore of several ranks has either barriers, or signals and waits (sharing_c3)}}
      ark.signal @p
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// In the next iteration, rank 0 could put again before rank 1 has read the first values.
ark.program @rankEndsAlone(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end0 arrivals = 1 handoff = barrier
    ark.semaphore @end1 arrivals = 1 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      // expected-note @below {{the other lane ends here}}
      ark.barrier @end0
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      // expected-error @below {{ends its lane at '@end1', and another lane ends at '@end0': the next iteration could overtake this one}}
      ark.barrier @end1
    }
  }
  ark.return
}

// -----

ark.program @readsArenaOfAnotherRank(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 0 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read', region}}
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @p
      // expected-error @below {{'ark.run' op vCTA 0 of 'read' on SM 2 of rank 1 reads bytes [0, 16) of the arena; its rank has bytes [64, 128) (sharing_c4)}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @readsAcrossTheBound(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 56 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read', region}}
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (1), [3]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<3xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @p
      // expected-error @below {{vCTA 0 of 'read' on SM 2 of rank 1 reads bytes [60, 72) of the arena; its rank has bytes [64, 128) (sharing_c4)}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// An update that keeps elements reads them.
ark.program @updatesArenaOfAnotherRank(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xf32>
  ark.task "fill" grid [1] ins() outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 1 of 'update', region}}
  ark.task "update" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) attributes {in_place} {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @f arrivals = 1 handoff = peer
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.wait @f
      // expected-error @below {{vCTA 0 of 'update' on SM 0 of rank 0 reads bytes [64, 80) of the arena; its rank has bytes [0, 64) (sharing_c4)}}
      ark.run "update" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.run "fill" [0, 1]
      ark.signal @f
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// A rank would poll memory of another rank.
ark.program @receivesPacketsOfAnotherRank(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read', region}}
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) outs(%y0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xi32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'read' on SM 1 of rank 0 reads bytes [64, 80) of the packets; its rank has bytes [0, 64) (sharing_c4)}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The words lie in the part of the rank that sends them, not of the rank that receives them.
ark.program @packetsForTheWrongRank(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 0 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi32>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read', region}}
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xi32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'read' on SM 2 of rank 1 reads bytes [0, 16) of the packets; its rank has bytes [64, 128) (sharing_c4)}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Rank 1 would send packets whose values rank 0 computes.
ark.program @packetsFromTheWrongRank(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi32>
  // expected-note @below {{operand 0 of 'put', region}}
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xi32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'put' on SM 2 of rank 1 accesses 'rank0/x', which is not an argument of its rank (sharing_c5)}}
      ark.run "put" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @argumentWithoutARank(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  // expected-note @below {{operand 0 of 'a', region}}
  ark.task "a" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 1 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'a' on SM 0 of rank 0 accesses 'x', which is not an argument of its rank (sharing_c5)}}
      ark.run "a" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The lower half of a word has no epoch.
ark.program @halvesOfWords(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi64>
  %cq = arith.constant 64 : index
  %q = memref.view %packets[%cq][] : memref<128xi8> to memref<8xi32>
  // expected-note @below {{operand 1 of 'put', region}}
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi64, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read', region}}
  ark.task "read" grid [1] ins(%q[#ark.region<(d0) -> (0), [8]>] : memref<8xi32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<8xi32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'read' on SM 2 reads bytes [64, 96) of the packets as words of 4 bytes, which vCTA 0 of 'put' on SM 0 writes as words of 8 bytes}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @wordsOfHalves(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi32>
  %cq = arith.constant 64 : index
  %q = memref.view %packets[%cq][] : memref<128xi8> to memref<2xi64>
  // expected-note @below {{operand 1 of 'put', region}}
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read', region}}
  ark.task "read" grid [1] ins(%q[#ark.region<(d0) -> (0), [2]>] : memref<2xi64>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<2xi64, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'read' on SM 2 reads bytes [64, 80) of the packets as words of 8 bytes, which vCTA 0 of 'put' on SM 0 writes as words of 4 bytes}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @packetsOfBytes(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi16>
  // expected-error @below {{operand 1 of 'put' has packets of 'i16', which are not integers of 32 or 64 bits}}
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi16>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi16, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi16>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xi16, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// A reader could not tell which rank has sent a word.
ark.program @sentByTwoRanks(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi32>
  // expected-note @below {{operand 1 of 'put0', region}}
  ark.task "put0" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'put1', region}}
  ark.task "put1" grid [1] ins() outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) {
  ^bb0(%i: index, %t0: memref<4xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xi32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put0" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'put1' on SM 2 writes bytes [64, 80) of the packets, which vCTA 0 of 'put0' on SM 0 writes in the same iteration}}
      ark.run "put1" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
