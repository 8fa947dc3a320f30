// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

// Whole tasks are ordered up to "b", and "c" does not wait for the reads of "b".
ark.program @reuseBeforeAReadOnAnotherLane(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<32xi8> to memref<4xf32>
  ark.task "a" grid [2] ins() outs(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b'}}
  ark.task "b" grid [2] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'c'}}
  ark.task "c" grid [1] ins() outs(%u[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @a arrivals = 2
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.barrier @a
      ark.run "b" [0, 1]
      // expected-error @below {{WAR hazard: vCTA 0 of 'c' on SM 0 writes bytes [16, 32) of the arena without waiting for vCTA 1 of 'b' on SM 1, which reads them}}
      ark.run "c" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
      ark.barrier @a
      ark.run "b" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The write of all bytes comes after the read, and does not count.
ark.program @aWholeWriteAfterTheRead(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<32xi8> to memref<4xf32>
  // expected-note @below {{operand 0 of 'read'}}
  ark.task "read" grid [1] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "write" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{reads bytes [0, 32) of the arena, which no task has written}}
      ark.run "read" [0, 1]
      ark.run "write" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// A write of the second half is not a write of the whole operand of the read.
ark.program @earlierWritesLeaveAGap(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<32xi8> to memref<4xf32>
  ark.task "write" grid [1] ins() outs(%u[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read'}}
  ark.task "read" grid [1] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "write" [0, 1]
      // expected-error @below {{reads bytes [0, 16) of the arena, which no task has written}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The operand of the write has all bytes of the read, and the regions of its vCTAs have not.
ark.program @regionsOfAWriteLeaveAGap(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<32xi8> to memref<4xf32>
  ark.task "write" grid [2] ins() outs(%t[#ark.region<(d0) -> (d0 * 4), [3]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<3xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read'}}
  ark.task "read" grid [1] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "write" [0, 2]
      // expected-error @below {{reads bytes [12, 16) of the arena, which no task has written}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// No other task accesses the bytes.
ark.program @vctasOfTheOnlyTaskOverlap(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %arena = ark.arena : memref<32xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<32xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<32xi8> to memref<4xf32>
  // expected-note @below {{operand 0 of 'write'}}
  // expected-error @below {{vCTA 1 of 'write' on SM 0 writes bytes [12, 20) of the arena, which vCTA 0 of 'write' on SM 0 writes; only a task that updates them in place may (task_c6)}}
  ark.task "write" grid [2] ins() outs(%t[#ark.region<(d0) -> (d0 * 3), [5]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<5xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "write" [0, 1]
      ark.run "write" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}
