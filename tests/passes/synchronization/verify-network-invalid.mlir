// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

// Rank 0 computes on SM 0, and starts the copy on SM 2. Rank 1 has SM 3.
// The body may do anything.
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @noCopy(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  ark.task "stage" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    %r = memref.load %t0[%i] : memref<4xf32, strided<[1], offset: ?>>
    memref.store %r, %t1[%i] : memref<4xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @staged arrivals = 1
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, but a network adapter cannot execute the task: its body is not a copy (network_c1)}}
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}

// -----

// The input of a program is in no window.
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @fromInput(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<4xf32, strided<[1], offset: ?>>) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [2, 3] warps = [0, 1] {
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, but a network adapter cannot execute the task: its input is not in the arena (network_c1)}}
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}

// -----

module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @twoVctas(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  ark.task "stage" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [2] ins(%s[#ark.region<(d0) -> (d0 * 2), [2]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (d0 * 2), [2]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<2xf32, strided<[1], offset: ?>>, %t1: memref<2xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<2xf32, strided<[1], offset: ?>>) outs(%t1 : memref<2xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @staged arrivals = 1
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, but a network adapter cannot execute the task: it has more than one vCTA (network_c1)}}
      ark.run "put" [0, 2]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}

// -----

// SM 2 would signal for its own result, too.
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @computesAsWell(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  ark.task "stage" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<4xf32, strided<[1], offset: ?>>) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "own" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @staged arrivals = 1
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, and its lane does not only copy to rank 1 (network_c2)}}
      ark.run "put" [0, 1]
      ark.signal @p
      // expected-note @below {{the lane runs this item, too}}
      ark.run "own" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}

// -----

// The signal arrives before the network adapter has read the source.
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @signalsItsOwnRank(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  ark.task "stage" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<4xf32, strided<[1], offset: ?>>) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "reuse" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @staged arrivals = 1
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @done arrivals = 1
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      // expected-note @below {{rank 0 waits on SM 0}}
      ark.wait @done
      ark.run "reuse" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, and the lane signals '@done', for which rank 0 waits: the signal does not show that the copy has ended (network_c3)}}
      ark.run "put" [0, 1]
      ark.signal @done
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}

// -----

module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @barrierBeforeTheEnd(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  ark.task "stage" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<4xf32, strided<[1], offset: ?>>) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @staged arrivals = 1
    ark.semaphore @p arrivals = 3 handoff = barrier
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      ark.barrier @p
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, and its lane passes the barrier '@p' before the end (network_c3)}}
      ark.run "put" [0, 1]
      ark.barrier @p
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.barrier @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}

// -----

// The barrier at the end does not show that the copy has ended.
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @nobodyWaits(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  ark.task "stage" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<4xf32, strided<[1], offset: ?>>) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @staged arrivals = 1
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, which waits for no signal after the copy: the copy may end after the iteration (network_c4)}}
      ark.run "put" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}

// -----

// The second copy may arrive before the first one.
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @writesTwice(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<4xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<4xf32>
  ark.task "stage" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "first" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<4xf32, strided<[1], offset: ?>>) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  // expected-note @below {{the task is 'put'}}
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<4xf32, strided<[1], offset: ?>>) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 6 {
    ark.semaphore @staged arrivals = 1
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      // expected-note @below {{the copy before}}
      ark.run "first" [0, 1]
      // expected-error @below {{'put' on SM 2 of rank 0 writes memory of rank 1 in another domain, to bytes that the lane has copied to before: copies may arrive in any order (network_c5)}}
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
}
