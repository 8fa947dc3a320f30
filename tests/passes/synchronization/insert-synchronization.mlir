// RUN: ark-opt %s --split-input-file --ark-insert-synchronization --ark-verify-synchronization | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-insert-synchronization=max-semaphores=2 --ark-verify-synchronization | FileCheck %s --check-prefix=FEW
// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-insert-synchronization --ark-test-delete-each-wait -o /dev/null
// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-insert-synchronization=max-semaphores=2 --ark-test-delete-each-wait -o /dev/null

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// Every lane depends on every other lane, so they meet at a barrier.
// CHECK-LABEL: ark.program @allLanesMeet
// CHECK: ark.semaphore @a arrivals = 4 handoff = barrier
// CHECK-NEXT: ark.semaphore @end arrivals = 4 handoff = barrier
// CHECK-NEXT: ark.lane sms = [0, 4] warps = [0, 8] {
// CHECK-NEXT: ark.run "a" [d0 * 2, d0 * 2 + 2]
// CHECK-NEXT: ark.barrier @a
// CHECK-NEXT: ark.run "b" [d0 * 2, d0 * 2 + 2]
// CHECK-NEXT: ark.barrier @end
// CHECK-NEXT: }
ark.program @allLanesMeet(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}, %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [8] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [8] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.lane sms = [0, 4] warps = [0, 8] {
      ark.run "a" [d0 * 2, d0 * 2 + 2]
      ark.run "b" [d0 * 2, d0 * 2 + 2]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// Lanes do other work between their signals and their waits.
// CHECK-LABEL: ark.program @workBetweenSignalAndWait
// CHECK: ark.semaphore @a arrivals = 4{{$}}
// CHECK: ark.lane sms = [0, 4]
// CHECK-NEXT: ark.run "a"
// CHECK-NEXT: ark.signal @a
// CHECK-NEXT: ark.run "b"
// CHECK-NEXT: ark.wait @a
// CHECK-NEXT: ark.run "c"
// CHECK-NEXT: ark.barrier @end
ark.program @workBetweenSignalAndWait(%x: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "x"}, %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}, %z: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "a" grid [4] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [4] ins() outs(%z[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [4] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.lane sms = [0, 4] warps = [0, 8] {
      ark.run "a" [d0, d0 + 1]
      ark.run "b" [d0, d0 + 1]
      ark.run "c" [d0, d0 + 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 4000, overhead = 100>} {
// Each lane exchanges tiles with its neighbours. A hand-off of all lanes through one counter would be slow, so
// each pair of lanes has a semaphore.
// CHECK-LABEL: ark.program @neighboursHaveSemaphoresOfTheirOwn
// CHECK: ark.semaphore @a arrivals = 1{{$}}
// CHECK-NEXT: ark.semaphore @a.1 arrivals = 1{{$}}
// CHECK-NEXT: ark.semaphore @a.2 arrivals = 1{{$}}
// CHECK-NEXT: ark.semaphore @a.3 arrivals = 1{{$}}
// CHECK-NEXT: ark.semaphore @end arrivals = 4
// CHECK-NEXT: ark.lane sms = [0, 1] warps = [0, 8] {
// CHECK-NEXT: ark.run "a" [d0, d0 + 1]
// CHECK-NEXT: ark.signal @[[S0:[a0-9.]+]]
// CHECK-NEXT: ark.wait @[[S3:[a0-9.]+]]
// CHECK-NEXT: ark.run "b" [d0, d0 + 1]
// CHECK: ark.lane sms = [3, 4]
// CHECK-NEXT: ark.run "a" [d0, d0 + 1]
// CHECK-NEXT: ark.signal @[[S3]]
// CHECK-NEXT: ark.wait @[[S0]]
// FEW-LABEL: ark.program @neighboursHaveSemaphoresOfTheirOwn
// FEW: ark.semaphore @a arrivals = 2{{$}}
// FEW-NEXT: ark.semaphore @a.1 arrivals = 2{{$}}
// FEW-NEXT: ark.semaphore @end
ark.program @neighboursHaveSemaphoresOfTheirOwn(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}, %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [4] ins() outs(%x[#ark.region<(d0) -> (d0 * 2), [2]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<2xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [4] ins(%x[#ark.region<(d0) -> (6 - d0 * 2), [2]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<2xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.lane sms = [0, 4] warps = [0, 8] {
      ark.run "a" [d0, d0 + 1]
      ark.run "b" [d0, d0 + 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// CHECK-LABEL: ark.program @dependenceWithinALaneNeedsNothing
// CHECK: ark.schedule
// CHECK-NEXT: ark.semaphore @end arrivals = 4 handoff = barrier
// CHECK-NEXT: ark.lane
// CHECK-NEXT: ark.run "a"
// CHECK-NEXT: ark.run "b"
// CHECK-NEXT: ark.barrier @end
ark.program @dependenceWithinALaneNeedsNothing(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}, %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [4] ins() outs(%x[#ark.region<(d0) -> (d0 * 2), [2]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<2xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [4] ins(%x[#ark.region<(d0) -> (d0 * 2), [2]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<2xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.lane sms = [0, 4] warps = [0, 8] {
      ark.run "a" [d0, d0 + 1]
      ark.run "b" [d0, d0 + 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// "c" also reads a result of "a"; the wait for "b" implies that "a" has finished.
// CHECK-LABEL: ark.program @impliedDependenceNeedsNoWait
// CHECK: ark.semaphore @a arrivals = 1
// CHECK-NEXT: ark.semaphore @b arrivals = 1
// CHECK-NEXT: ark.semaphore @end arrivals = 3
// CHECK: ark.run "a"
// CHECK-NEXT: ark.signal @a
// CHECK-NEXT: ark.barrier @end
// CHECK: ark.wait @a
// CHECK-NEXT: ark.run "b"
// CHECK-NEXT: ark.signal @b
// CHECK-NEXT: ark.barrier @end
// CHECK: ark.lane sms = [2, 3]
// CHECK-NEXT: ark.wait @b
// CHECK-NEXT: ark.run "c"
// CHECK-NEXT: ark.barrier @end
ark.program @impliedDependenceNeedsNoWait(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}, %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}, %z: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [1] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>, %y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%z[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>, %c: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 3 {
    ark.lane sms = [0, 1] warps = [0, 8] {
      ark.run "a" [0, 1]
    }
    ark.lane sms = [1, 2] warps = [0, 8] {
      ark.run "b" [0, 1]
    }
    ark.lane sms = [2, 3] warps = [0, 8] {
      ark.run "c" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// The same lanes wait for both producers, so one semaphore suffices.
// CHECK-LABEL: ark.program @twoProducersOneSemaphore
// CHECK: ark.semaphore @b arrivals = 2
// CHECK-NEXT: ark.semaphore @end arrivals = 3
// CHECK: ark.run "a"
// CHECK-NEXT: ark.signal @b
// CHECK: ark.run "b"
// CHECK-NEXT: ark.signal @b
// CHECK: ark.wait @b
// CHECK-NEXT: ark.run "c"
ark.program @twoProducersOneSemaphore(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}, %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}, %z: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [1] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>, %y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%z[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>, %c: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 3 {
    ark.lane sms = [0, 1] warps = [0, 8] {
      ark.run "a" [0, 1]
    }
    ark.lane sms = [1, 2] warps = [0, 8] {
      ark.run "b" [0, 1]
    }
    ark.lane sms = [2, 3] warps = [0, 8] {
      ark.run "c" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// "c" reuses bytes that "b" reads, so it waits for "b".
// CHECK-LABEL: ark.program @reuseOfTheArena
// CHECK: ark.run "a"
// CHECK-NEXT: ark.signal @a
// CHECK-NEXT: ark.wait @b
// CHECK-NEXT: ark.run "c"
// CHECK-NEXT: ark.run "d"
// CHECK: ark.wait @a
// CHECK-NEXT: ark.run "b"
// CHECK-NEXT: ark.signal @b
// CHECK-NEXT: ark.barrier @end
ark.program @reuseOfTheArena(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}, %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %u = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  ark.task "a" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [1] ins() outs(%u[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "d" grid [1] ins(%u[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.lane sms = [0, 1] warps = [0, 8] {
      ark.run "a" [0, 1]
      ark.run "c" [0, 1]
      ark.run "d" [0, 1]
    }
    ark.lane sms = [1, 2] warps = [0, 8] {
      ark.run "b" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// vCTAs that may touch the same bytes run one after the other.
// CHECK-LABEL: ark.program @dependentVctasOfOneTask
// CHECK: ark.lane sms = [0, 1]
// CHECK-NEXT: ark.run "update" [d0, d0 + 1]
// CHECK-NEXT: ark.signal @[[A:[a-z0-9.]+]]
// CHECK: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.wait @[[A]]
// CHECK-NEXT: ark.run "update" [d0, d0 + 1]
// CHECK-NEXT: ark.signal @[[B:[a-z0-9.]+]]
// CHECK: ark.lane sms = [2, 3]
// CHECK-NEXT: ark.wait @[[B]]
// CHECK-NEXT: ark.run "update" [d0, d0 + 1]
// CHECK-NEXT: ark.barrier @end
ark.program @dependentVctasOfOneTask(%s: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  ark.task "update" grid [3] ins() outs(%s[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 3 {
    ark.lane sms = [0, 3] warps = [0, 8] {
      ark.run "update" [d0, d0 + 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// CHECK-LABEL: ark.program @lanesWithoutWork
// CHECK: ark.semaphore @end arrivals = 2
// CHECK-NEXT: ark.lane sms = [1, 2]
// CHECK-NEXT: ark.run "a" [d0 floordiv 2, (d0 + 1) floordiv 2]
// CHECK-NEXT: ark.barrier @end
// CHECK: ark.lane sms = [3, 4]
// CHECK-NOT: ark.lane
ark.program @lanesWithoutWork(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 4 {
    ark.lane sms = [0, 4] warps = [0, 8] {
      ark.run "a" [d0 floordiv 2, (d0 + 1) floordiv 2]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 100, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// CHECK-LABEL: ark.program @existingSemaphoresStay
// CHECK: ark.schedule "hand" sms = 1 {
// CHECK-NEXT: ark.semaphore @mine arrivals = 1
// CHECK-NEXT: ark.lane
// CHECK-NEXT: ark.run "a" [0, 1]
// CHECK-NEXT: ark.barrier @mine
// CHECK-NEXT: }
ark.program @existingSemaphoresStay(%x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @mine arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 8] {
      ark.run "a" [0, 1]
      ark.barrier @mine
    }
  }
  ark.return
}
}
