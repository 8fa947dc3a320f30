// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

// Each lane waits for packets that the other lane would send after its own wait: a deadlock.
ark.program @cycleOfPackets(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  %packets = ark.packets : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  %q = memref.view %packets[%c64][] : memref<128xi8> to memref<16xi32>
  ark.task "a" grid [1] ins() outs(%p[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [1] ins() outs(%q[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "d" grid [1] ins(%q[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%z[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{'ark.run' op never ends (deadlock): SM 0 waits for packets before it runs vCTAs [0, 1) of 'd'}}
      // expected-note @below {{but before that, SM 0 waits for packets before it runs vCTAs [0, 1) of 'd'}}
      ark.run "d" [0, 1]
      // expected-note @below {{SM 0 sends them when it runs vCTAs [0, 1) of 'a'}}
      ark.run "a" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-note @below {{but before that, SM 1 waits for packets before it runs vCTAs [0, 1) of 'b'}}
      ark.run "b" [0, 1]
      // expected-note @below {{SM 1 sends them when it runs vCTAs [0, 1) of 'c'}}
      ark.run "c" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @cycleOfPacketsAndASemaphore(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  ark.task "a" grid [1] ins() outs(%p[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @s arrivals = 1
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{'ark.wait' op never ends (deadlock): SM 0 waits for '@s' before it runs vCTAs [0, 1) of 'a'}}
      // expected-note @below {{but before that, SM 0 waits for '@s' before it runs vCTAs [0, 1) of 'a'}}
      ark.wait @s
      // expected-note @below {{SM 0 sends them when it runs vCTAs [0, 1) of 'a'}}
      ark.run "a" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-note @below {{but before that, SM 1 waits for packets before it runs vCTAs [0, 1) of 'b'}}
      ark.run "b" [0, 1]
      // expected-note @below {{SM 1 signals '@s' after it runs vCTAs [0, 1) of 'b'}}
      ark.signal @s
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @packetsOfALaterWorkItem(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  ark.task "a" grid [1] ins() outs(%p[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{'ark.run' op never ends (deadlock): SM 0 waits for packets before it runs vCTAs [0, 1) of 'b'}}
      // expected-note @below {{but before that, SM 0 waits for packets before it runs vCTAs [0, 1) of 'b'}}
      ark.run "b" [0, 1]
      // expected-note @below {{SM 0 sends them when it runs vCTAs [0, 1) of 'a'}}
      ark.run "a" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

ark.program @packetsThatNoTaskSends(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  // expected-note @below {{operand 0 of 'b', region}}
  ark.task "b" grid [1] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{'ark.run' op vCTA 0 of 'b' on SM 0 reads bytes [0, 64) of the packets, which no task has written}}
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Only half of the packets are sent before the read.
ark.program @packetsThatAreSentTooLate(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  ark.task "a" grid [1] ins() outs(%p[#ark.region<(d0) -> (0), [8]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<8xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'b', region}}
  ark.task "b" grid [1] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      // expected-error @below {{vCTA 0 of 'b' on SM 0 reads bytes [32, 64) of the packets, which no task has written}}
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// The writers are ordered, but a reader cannot tell which of them sent a packet.
ark.program @writtenTwice(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  // expected-note @below {{operand 0 of 'a', region}}
  ark.task "a" grid [1] ins() outs(%p[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'c', region}}
  ark.task "c" grid [1] ins() outs(%p[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      // expected-error @below {{'ark.run' op vCTA 0 of 'c' on SM 0 writes bytes [0, 64) of the packets, which vCTA 0 of 'a' on SM 0 writes in the same iteration}}
      ark.run "c" [0, 1]
      ark.run "b" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}

// -----

// Received packets do not order other writes of the sender.
ark.program @packetsOrderNothingElse(
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  %packets = ark.packets : memref<128xi8>
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %p = memref.view %packets[%c0][] : memref<128xi8> to memref<16xi32>
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  // expected-note @below {{operand 1 of 'a', region}}
  ark.task "a" grid [2] ins() outs(%p[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xi32>, %t[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<8xi32, strided<[1], offset: ?>>, %c: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-note @below {{operand 0 of 'c', region}}
  ark.task "c" grid [2] ins(%t[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%z[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.semaphore @end arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.run "b" [0, 1]
      // expected-error @below {{'ark.run' op RAW hazard: vCTA 0 of 'c' on SM 0 reads bytes [32, 64) of the arena without waiting for vCTA 1 of 'a' on SM 1, which writes them}}
      ark.run "c" [0, 1]
      ark.barrier @end
    }
    ark.lane sms = [1, 2] warps = [0, 1] {
      ark.run "a" [1, 2]
      ark.run "b" [1, 2]
      ark.run "c" [1, 2]
      ark.barrier @end
    }
  }
  ark.return
}
