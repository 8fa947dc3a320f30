// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics -o /dev/null

// The order of whole tasks is enough here: no vCTA of a task begins before all vCTAs of the task
// before it have ended. The second value reuses the bytes of the first.
ark.program @barriersBetweenTasksThatReuseBytes(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %first = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %second = memref.view %arena[%c16][] : memref<32xi8> to memref<4xf32>
  ark.task "a" grid [2] ins() outs(%first[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%first[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [2] ins() outs(%second[#ark.region<(d0) -> (d0 * 2), [2]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<2xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "d" grid [2] ins(%second[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y[#ark.region<(d0) -> (d0 * 2), [2]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<2xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @a arrivals = 2
    ark.semaphore @b arrivals = 2
    ark.semaphore @c arrivals = 2
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 2] warps = [0, 1] {
      ark.run "a" [d0, d0 + 1]
      ark.barrier @a
      ark.run "b" [d0, d0 + 1]
      ark.barrier @b
      ark.run "c" [d0, d0 + 1]
      ark.barrier @c
      ark.run "d" [d0, d0 + 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Two tasks write the halves of a value, and a third reads all of it.
ark.program @twoTasksWriteWhatOneReads(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %whole = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %left = memref.view %arena[%c0][] : memref<32xi8> to memref<4xf32>
  %right = memref.view %arena[%c16][] : memref<32xi8> to memref<4xf32>
  ark.task "left" grid [1] ins() outs(%left[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "right" grid [1] ins() outs(%right[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%whole[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "left" [0, 1]
      ark.run "right" [0, 1]
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The tasks overlap in time, and their vCTAs with the same bytes do not.
ark.program @vctasAreOrderedAndTasksAreNot(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  ark.task "a" grid [2] ins() outs(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 2] warps = [0, 1] {
      ark.run "a" [d0, d0 + 1]
      ark.run "b" [d0, d0 + 1]
      ark.barrier @end
    }
  }
  ark.return
}
