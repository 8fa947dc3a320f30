// RUN: ark-opt %s --split-input-file --ark-verify-synchronization | FileCheck %s
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-test-delete-each-wait))' -o /dev/null

// Ranks 0 and 1 have two SMs and half of the arena and of the packets each.
// CHECK-LABEL: ark.program @putToAnotherRank
ark.program @putToAnotherRank(
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

// The lane that stores to rank 1 signals only its own rank. SM 1 acquires the store and releases it to
// rank 1.
// CHECK-LABEL: ark.program @putThenCounterThenPeer
ark.program @putThenCounterThenPeer(
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
    ark.semaphore @a arrivals = 1
    ark.semaphore @p arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @a
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @a
      ark.run "after" [0, 1]
      ark.signal @p
      ark.run "last" [0, 1]
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

// CHECK-LABEL: ark.program @ranksMeet
ark.program @ranksMeet(
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
    ark.semaphore @middle arrivals = 2 handoff = barrier
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.barrier @middle
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.barrier @middle
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Rank 1 has no lane, so only lanes of rank 0 reach the last barrier.
// CHECK-LABEL: ark.program @countersWithinRanks
ark.program @countersWithinRanks(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cf = arith.constant 0 : index
  %f = memref.view %arena[%cf][] : memref<128xi8> to memref<4xf32>
  ark.task "make" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%f[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "use" grid [1] ins(%f[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @f arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "make" [0, 1]
      ark.signal @f
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @f
      ark.run "use" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Words that rank 0 stores in the memory of rank 1 need no semaphore.
// CHECK-LABEL: ark.program @sendTaskPackets
ark.program @sendTaskPackets(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %packets = ark.packets : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %packets[%cp][] : memref<128xi8> to memref<4xi32>
  %cq = arith.constant 96 : index
  %q = memref.view %packets[%cq][] : memref<128xi8> to memref<4xi64>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>, %q[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi32, strided<[1], offset: ?>>, %t2: memref<4xi64, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi32>, %q[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xi32, strided<[1], offset: ?>>, %t1: memref<4xi64, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
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

// Each rank has the constants.
// CHECK-LABEL: ark.program @constants
ark.program @constants(
    %c: memref<4xf32> {ark.kind = #ark.kind<constant>, ark.name = "c", ark.value = dense<1.0> : tensor<4xf32>},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  ark.task "a" grid [1] ins(%c[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%c[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// CHECK-LABEL: ark.program @sendRankPackets
ark.program @sendRankPackets(
    %x0: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y0: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/y"},
    %y1: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<128xi8>
  %cp = arith.constant 64 : index
  %p = memref.view %arena[%cp][] : memref<128xi8> to memref<4xi64>
  ark.task "put" grid [1] ins(%x0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xi64, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.semaphore @p arrivals = 1 handoff = packet
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
