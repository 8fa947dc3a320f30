// RUN: ark-opt %s --split-input-file --ark-verify-synchronization --verify-diagnostics

// The proof checks that operands and regions lie within their buffers, even in
// schedules edited by hand.

ark.program @viewBehindTheArena(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %far = arith.constant 9999999 : index
  %t = memref.view %arena[%far][] : memref<64xi8> to memref<8xf32>
  // expected-error @below {{operand 0 of 'a' is part of bytes [9999999, 10000031) of a buffer of 64 bytes}}
  ark.task "a" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
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

ark.program @viewThatEndsBehindTheArena(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c40 = arith.constant 40 : index
  %t = memref.view %arena[%c40][] : memref<64xi8> to memref<8xf32>
  // expected-error @below {{operand 0 of 'a' is part of bytes [40, 72) of a buffer of 64 bytes}}
  ark.task "a" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
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

ark.program @castBehindTheArgument(
    %x: memref<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %far = memref.reinterpret_cast %x to offset: [100000], sizes: [8], strides: [1] : memref<8xf32> to memref<8xf32, strided<[1], offset: 100000>>
  // expected-error @below {{operand 0 of 'a' is bytes [400000, 400032) of a buffer of 32 bytes}}
  ark.task "a" grid [1] ins(%far[#ark.region<(d0) -> (0), [8]>] : memref<8xf32, strided<[1], offset: 100000>>) outs(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
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

// The operand is inside of the arena, but extends into another intermediate.
ark.program @castBehindTheIntermediate(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<128xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<128xi8> to memref<8xf32>
  %far = memref.reinterpret_cast %t to offset: [4], sizes: [8], strides: [1] : memref<8xf32> to memref<8xf32, strided<[1], offset: 4>>
  // expected-error @below {{operand 0 of 'a' is bytes [16, 48) of a buffer of 32 bytes}}
  ark.task "a" grid [1] ins() outs(%far[#ark.region<(d0) -> (0), [8]>] : memref<8xf32, strided<[1], offset: 4>>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
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

// The strides lead out of the buffer.
ark.program @stridesBehindTheArgument(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %wide = memref.reinterpret_cast %y to offset: [0], sizes: [8], strides: [2] : memref<8xf32> to memref<8xf32, strided<[2]>>
  // expected-error @below {{operand 0 of 'a' is bytes [0, 60) of a buffer of 32 bytes}}
  ark.task "a" grid [1] ins() outs(%wide[#ark.region<(d0) -> (0), [8]>] : memref<8xf32, strided<[2]>>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[2], offset: ?>>):
    ark.yield
  }
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

ark.program @misaligned(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c1 = arith.constant 1 : index
  %t = memref.view %arena[%c1][] : memref<64xi8> to memref<8xf32>
  // expected-error @below {{operand 0 of 'a' begins at byte 1, which is not a multiple of the 4 bytes of its elements}}
  ark.task "a" grid [1] ins() outs(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.semaphore @end arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "a" [0, 1]
      ark.barrier @end
    }
  }
  ark.return
}
