// RUN: ark-opt %s --split-input-file --ark-verify-synchronization | FileCheck %s

// Rank 0 computes on SM 0, and starts the copy on SM 2. Rank 1 has SM 3.
// CHECK-LABEL: ark.program @copyToAnotherDomain
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @copyToAnotherDomain(
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

// In one domain, SMs write memory of other ranks with any body.
// CHECK-LABEL: ark.program @oneDomain
module attributes {ark.domains = array<i64: 0, 0>} {
ark.program @oneDomain(
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
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%d[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
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

// The receiver signals computing lanes of the sender: SM 0 knows from SM 3 that the copy has ended.
// CHECK-LABEL: ark.program @receiverSignals
module attributes {ark.domains = array<i64: 0, 1>} {
ark.program @receiverSignals(
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
    ark.semaphore @ack arrivals = 1 handoff = peer
    ark.semaphore @end arrivals = 3 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "stage" [0, 1]
      ark.signal @staged
      ark.wait @ack
      ark.run "reuse" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [2, 3] warps = [0, 1] {
      ark.wait @staged
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [3, 4] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.signal @ack
      ark.barrier @end
    }
  }
  ark.return
}
}
