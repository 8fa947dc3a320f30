// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

ark.program @noWait(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  // expected-note @below {{operand 1 of 'put'}}
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  // expected-note @below {{operand 0 of 'read'}}
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 1 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      ark.wait @p
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-error @below {{RAW hazard: vCTA 0 of 'read' on SM 1 reads bytes [0, 32) of the arena without waiting for vCTA 0 of 'put' on SM 0}}
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The words of "put" carry no epoch, so a wait could not poll them.
ark.program @noPackets(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  // expected-note @below {{the task is here}}
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 1 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      // expected-error @below {{of '@p' cannot be signalled by the packets of 'put': it puts no packets}}
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// A wait would poll for packets that no vCTA sends.
ark.program @notAll(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  // expected-note @below {{the task is here}}
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [2]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<2xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [2]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<2xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 1 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      // expected-error @below {{of '@p' cannot be signalled by the packets of 'put': it does not write all of its packets}}
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// A signal covers all work items before it; packets cover only the work item that sends them.
ark.program @afterAnotherWorkItem(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<128xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<128xi8> to memref<4xi64>
  %c64 = arith.constant 64 : index
  %z = memref.view %arena[%c64][] : memref<128xi8> to memref<4xf32>
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  // expected-note @below {{the task is here}}
  ark.task "other" grid [1] ins() outs(%z[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 1 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.run "other" [0, 1]
      // expected-error @below {{of '@p' cannot be signalled by the packets of 'other': it puts no packets}}
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @beforeTheWorkItem(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 1 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{of '@p' on SM 0 does not come right after a work item that puts packets}}
      ark.signal @p
      ark.run "put" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The values of "other" could look like a packet of a later iteration.
ark.program @sharedBytes(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  %c16 = arith.constant 16 : index
  %z = memref.view %arena[%c16][] : memref<64xi8> to memref<4xf32>
  // expected-note @below {{this task sends the packets}}
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-error @below {{'ark.task' op 'other' writes bytes that hold the packets of 'put'}}
  ark.task "other" grid [1] ins() outs(%z[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 1 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      ark.signal @p
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.wait @p
      ark.run "read" [0, 1]
      ark.run "other" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @barrier(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %arena[%c0][] : memref<64xi8> to memref<4xi64>
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xi64, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    ark.yield
  }
  ark.task "read" grid [1] ins(%p[#ark.region<(d0) -> (0), [4]>] : memref<4xi64>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xi64, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @p arrivals = 2 handoff = packet
    ark.semaphore @end arrivals = 2 handoff = barrier
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "put" [0, 1]
      // expected-error @below {{uses semaphore '@p', which stands for rank packets: a barrier needs a counter}}
      ark.barrier @p
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.barrier @p
      ark.run "read" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
