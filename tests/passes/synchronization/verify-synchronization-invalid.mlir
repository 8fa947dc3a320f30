// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

ark.program @missingWait(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @a arrivals = 2
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.signal @a
      ark.wait @a
      ark.run "b" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
      ark.signal @a
      // expected-error @below {{'ark.run' op RAW hazard: vCTA 1 of 'b' on SM 1 reads bytes [0, 16) of 'x' without waiting for vCTA 0 of 'a' on SM 0, which writes them}}
      ark.run "b" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @missingSignal(
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
    // expected-error @below {{'ark.semaphore' op declares 2 arrivals and is signalled 1 times (schedule_c5)}}
    ark.semaphore @a arrivals = 2
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.wait @a
      ark.run "b" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
      ark.signal @a
      ark.wait @a
      ark.run "b" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @missingSignalWithFewerArrivals(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @a arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.wait @a
      ark.run "b" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
      ark.signal @a
      ark.wait @a
      // expected-error @below {{RAW hazard: vCTA 1 of 'b' on SM 1 reads bytes [0, 16) of 'x' without waiting for vCTA 0 of 'a' on SM 0, which writes them}}
      ark.run "b" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The signal releases only the work items before it.
ark.program @signalTooEarly(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @a arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.signal @a
      ark.run "a" [0, 2]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @a
      // expected-error @below {{RAW hazard: vCTA 0 of 'b' on SM 1 reads bytes [0, 16) of 'x' without waiting for vCTA 0 of 'a' on SM 0}}
      ark.run "b" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The order of the work items is the reverse of program order.
ark.program @swappedOrder(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{RAW hazard: vCTA 0 of 'b' on SM 0 reads bytes [0, 16) of 'x' before vCTA 0 of 'a' on SM 0, which writes them and comes first in the program}}
      ark.run "b" [0, 2]
      ark.run "a" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @laneWaitsForItsOwnSignal(
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
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 2]
      // expected-error @below {{'ark.wait' op never ends (deadlock): SM 0 waits for '@a' before it runs vCTAs [0, 2) of 'b'}}
      // expected-note @below {{but before that, SM 0 waits for '@a' before it runs vCTAs [0, 2) of 'b'}}
      ark.wait @a
      ark.run "b" [0, 2]
      // expected-note @below {{SM 0 signals '@a' after it runs vCTAs [0, 2) of 'b'}}
      ark.signal @a
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @cycleOfTwoLanes(
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
    ark.semaphore @first arrivals = 1
    ark.semaphore @second arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{'ark.wait' op never ends (deadlock): SM 0 waits for '@second' before it runs vCTAs [0, 2) of 'a'}}
      // expected-note @below {{but before that, SM 0 waits for '@second' before it runs vCTAs [0, 2) of 'a'}}
      ark.wait @second
      ark.run "a" [0, 2]
      // expected-note @below {{SM 0 signals '@first' after it runs vCTAs [0, 2) of 'a'}}
      ark.signal @first
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-note @below {{but before that, SM 1 waits for '@first' before it runs vCTAs [0, 2) of 'b'}}
      ark.wait @first
      ark.run "b" [0, 2]
      // expected-note @below {{SM 1 signals '@second' after it runs vCTAs [0, 2) of 'b'}}
      ark.signal @second
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @barrierThatOneLaneNeverReaches(
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
    ark.semaphore @middle arrivals = 2
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 2]
      // expected-error @below {{'ark.barrier' op never ends (deadlock): SM 0 waits for '@middle' before it runs vCTAs [0, 2) of 'b'}}
      // expected-note @below {{but before that, SM 0 waits for '@middle' before it runs vCTAs [0, 2) of 'b'}}
      ark.barrier @middle
      ark.run "b" [0, 2]
      // expected-note @below {{SM 0 signals '@end' after it runs vCTAs [0, 2) of 'b'}}
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-note @below {{but before that, SM 1 waits for '@end' at its end}}
      ark.barrier @end
      // expected-note @below {{SM 1 signals '@middle' at its start}}
      ark.barrier @middle
    }
  }
  ark.return
}

// -----

ark.program @vctaMissing(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{the task}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-error @below {{'ark.schedule' op never runs vCTA 1 of 'a' (schedule_c3)}}
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @vctaTwice(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 2] warps = [0, 1] {
      // expected-error @below {{'ark.run' op runs vCTA 1 of 'a' again (schedule_c3)}}
      ark.run "a" [d0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Half of the first buffer lies in the second buffer, which is written too early.
ark.program @aliasingOffsets(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<64xi8> to memref<8xf32>
  ark.task "a" grid [2] ins() outs(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "b" grid [2] ins(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'c', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "c" grid [2] ins() outs(%u[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.run "b" [0, 1]
      // expected-error @below {{WAR hazard: vCTA 0 of 'c' on SM 0 writes bytes [16, 32) of the arena without waiting for vCTA 1 of 'b' on SM 1, which reads them}}
      ark.run "c" [0, 2]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
      ark.run "b" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @writesOfTwoTasks(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (0), [4]>}}
  ark.task "b" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-error @below {{WAW hazard: vCTA 0 of 'b' on SM 1 writes bytes [0, 16) of 'x' without waiting for vCTA 0 of 'a' on SM 0, which writes them}}
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @vctasOfOneTask(
    %x: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 2] warps = [0, 1] {
      // expected-error @below {{WAW hazard: vCTA 1 of 'a' on SM 1 writes bytes [0, 32) of 'x' without waiting for vCTA 0 of 'a' on SM 0}}
      ark.run "a" [d0, d0 + 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @arenaIsReadBeforeItIsWritten(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<64xi8> to memref<8xf32>
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "a" grid [1] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{vCTA 0 of 'a' on SM 0 reads bytes [0, 32) of the arena, which no task has written}}
      ark.run "a" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @arenaIsWrittenInPart(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<64xi8> to memref<8xf32>
  ark.task "w" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "a" grid [1] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "w" [0, 1]
      // expected-error @below {{reads bytes [16, 32) of the arena, which no task has written}}
      ark.run "a" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @arenaIsUpdatedBeforeItIsWritten(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %u = memref.view %arena[%c16][] : memref<64xi8> to memref<8xf32>
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "a" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{reads bytes [0, 32) of the arena, which no task has written}}
      ark.run "a" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @oneLaneWithoutBarrier(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.barrier @end
    }
    // expected-error @below {{'ark.lane' op does not end in a barrier: the next iteration could overtake this one}}
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
    }
  }
  ark.return
}

// -----

ark.program @twoDifferentBarriers(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 1
    ark.semaphore @other arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      // expected-note @below {{the other lane ends here}}
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
      // expected-error @below {{'ark.barrier' op ends its lane at '@other', and another lane ends at '@end': the next iteration could overtake this one}}
      ark.barrier @other
    }
  }
  ark.return
}

// -----

// Lanes of one SM run concurrently.
ark.program @lanesOfOneSmRace(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-note @below {{operand 0 of 'a', region #ark.region<(d0) -> (d0 * 4), [4]>}}
  ark.task "a" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "b" grid [2] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 4] {
      ark.run "a" [0, 2]
      ark.barrier @end
    }
    ark.lane sms = [0, 1] warps = [4, 8] {
      // expected-error @below {{RAW hazard: vCTA 0 of 'b' on SM 0 reads bytes [0, 16) of 'x' without waiting for vCTA 0 of 'a' on SM 0}}
      ark.run "b" [0, 2]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// expected-error @below {{'ark.program' op has no schedule}}
ark.program @noSchedule() {
  ark.return
}

// -----

// One task uses columns of a matrix, the other one rows.
ark.program @viewsOfDifferentStrides(%x: memref<4x4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  %t = memref.reinterpret_cast %x to offset: [0], sizes: [4, 4], strides: [1, 4] : memref<4x4xf32> to memref<4x4xf32, strided<[1, 4]>>
  // expected-note @below {{operand 0 of 'columns', region #ark.region<(d0) -> (d0, 0), [1, 4]>}}
  ark.task "columns" grid [4] ins() outs(%t[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<4x4xf32, strided<[1, 4]>>) {
  ^bb0(%i: index, %a: memref<1x4xf32, strided<[1, 4], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'rows', region #ark.region<(d0) -> (d0, 0), [1, 4]>}}
  ark.task "rows" grid [4] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<4x4xf32>) outs() {
  ^bb0(%i: index, %a: memref<1x4xf32, strided<[4, 1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @half arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "columns" [0, 3]
      ark.signal @half
      ark.run "columns" [3, 4]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @half
      // expected-error @below {{RAW hazard: vCTA 0 of 'rows' on SM 1 reads bytes [12, 16) of 'x' without waiting for vCTA 3 of 'columns' on SM 0}}
      ark.run "rows" [0, 4]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The update reads one element beyond its own, which another vCTA writes.
ark.program @sliceBesideTheUpdate(%s: memref<13xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %part = memref.reinterpret_cast %s to offset: [5], sizes: [8], strides: [1]
    : memref<13xf32> to memref<8xf32, strided<[1], offset: 5>>
  // expected-note @below {{operand 0 of 'update'}}
  // expected-note @below {{operand 1 of 'update'}}
  ark.task "update" grid [2]
      ins(%part[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32, strided<[1], offset: 5>>)
      outs(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : memref<13xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "test" sms = 2 {
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 2] warps = [0, 1] {
      // expected-error @below {{WAR hazard: vCTA 1 of 'update' on SM 1 writes bytes [32, 36) of 's' without waiting for vCTA 0 of 'update' on SM 0, which reads them}}
      ark.run "update" [d0, d0 + 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// A task writes half of the output that another one reads.
ark.program @readsAnOutputThatNoTaskWrites(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region #ark.region<(d0) -> (0), [8]>}}
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      // expected-error @below {{vCTA 0 of 'b' on SM 0 reads bytes [16, 32) of 'x', which no task has written}}
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
