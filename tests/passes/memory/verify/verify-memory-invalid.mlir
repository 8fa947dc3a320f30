// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-verify-memory))' --verify-diagnostics

// expected-error @below {{has results after the memory stage}}
ark.program @onTensors(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<16xf32> {ark.name = "y"}) {
  ark.return %x : tensor<16xf32>
}

// -----

// expected-error @below {{argument 'x' is not a buffer}}
ark.program @tensorArgument(%x: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.return
}

// -----

// expected-error @below {{argument 'x' is not dense}}
ark.program @stridedArgument(%x: memref<4x4xf32, strided<[1, 4]>> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.return
}

// -----

// expected-error @below {{argument 'x' is a constant without ark.value}}
ark.program @constantWithoutValue(%x: memref<4xf32> {ark.kind = #ark.kind<constant>, ark.name = "x"}) {
  ark.return
}

// -----

// expected-error @below {{argument 'x' has ark.value but is not a constant}}
ark.program @valueOfAnInput(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x", ark.value = dense<1.0> : tensor<4xf32>}) {
  ark.return
}

// -----

// expected-error @below {{argument 'x' has an ark.value whose type is not that of the buffer}}
ark.program @valueOfAnotherType(%x: memref<4xf32> {ark.kind = #ark.kind<constant>, ark.name = "x", ark.value = dense<1.0> : tensor<8xf32>}) {
  ark.return
}

// -----

ark.program @unplanned(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{is not allowed between tasks on buffers}}
  %0 = memref.alloc() : memref<16xf32>
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @twoArenas(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = ark.arena : memref<64xi8>
  // expected-error @below {{is the second arena of its program}}
  %1 = ark.arena : memref<64xi8>
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @viewOfAnArgument(%b: memref<64xi8> {ark.kind = #ark.kind<input>, ark.name = "b"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %c0 = arith.constant 0 : index
  // expected-error @below {{takes bytes of something other than the arena or packets}}
  %0 = memref.view %b[%c0][] : memref<64xi8> to memref<16xf32>
  ark.task "t" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @unalignedOffset(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<256xi8>
  %c32 = arith.constant 32 : index
  // expected-error @below {{lies at offset 32, which is not a multiple of 64}}
  %0 = memref.view %arena[%c32][] : memref<256xi8> to memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @outsideOfTheArena(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<100xi8>
  %c64 = arith.constant 64 : index
  // expected-error @below {{ends at byte 128 of an arena of 100}}
  %0 = memref.view %arena[%c64][] : memref<100xi8> to memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @bytesInUse(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  // expected-note @below {{the other intermediate}}
  %0 = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  // expected-error @below {{shares bytes of the arena with an intermediate that may be in use at the same time}}
  %1 = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A limit allows bytes that program order keeps apart, and no others.
ark.program @bytesInUseWithALimit(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) attributes {ark.memory_limit = 64 : i64} {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  // expected-note @below {{the other intermediate}}
  %0 = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  // expected-error @below {{shares bytes of the arena with an intermediate that may be in use at the same time}}
  %1 = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Program order does not keep intermediates apart.
ark.program @bytesOfAnotherBranch(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}, %z: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  %arena = ark.arena : memref<128xi8>
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // expected-note @below {{the other intermediate}}
  %0 = memref.view %arena[%c0][] : memref<128xi8> to memref<16xf32>
  // expected-error @below {{shares bytes of the arena with an intermediate that may be in use at the same time}}
  %1 = memref.view %arena[%c0][] : memref<128xi8> to memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%z[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @readBeforeItIsFilled(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %0 = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  // expected-error @below {{operand 0 is read before a task fills it}}
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// expected-error @below {{output 'y' has 64 bytes, and no task fills byte 0}}
ark.program @outputThatNoTaskFills(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.return
}

// -----

ark.program @writeToAnInput(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{operand 1 writes to an argument that is neither output nor state}}
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @writeToEveryRow(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = memref.reinterpret_cast %y to offset: [0], sizes: [2, 16], strides: [0, 1] : memref<16xf32> to memref<2x16xf32, strided<[0, 1]>>
  // expected-error @below {{operand 0 writes through a view that repeats elements}}
  ark.task "t" grid [1] ins() outs(%0[#ark.region<(d0) -> (0, 0), [2, 16]>] : memref<2x16xf32, strided<[0, 1]>>) {
  ^bb0(%i: index, %t0: memref<2x16xf32, strided<[0, 1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @viewOutsideOfItsBuffer(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = memref.reinterpret_cast %x to offset: [1], sizes: [16], strides: [1] : memref<16xf32> to memref<16xf32, strided<[1], offset: 1>>
  // expected-error @below {{operand 0 reaches outside of its buffer}}
  ark.task "t" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32, strided<[1], offset: 1>>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @tileWithoutStrides(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{operand 0 has a tile without its strides and a dynamic offset}}
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @tensorInABody(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %0 = tensor.empty() : tensor<4xf32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @tensorOfAnAllowedOp(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{works on tensors in a task on buffers}}
    %0 = arith.constant dense<1.0> : tensor<4xf32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @copyThatNeedsALibrary(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    memref.copy %t0, %t1 : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @signChangeOfAnotherWidth(%x: memref<16xui8> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xui8> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) {
  ^bb0(%i: index, %t0: memref<16xui8, strided<[1], offset: ?>>, %t1: memref<16xui8, strided<[1], offset: ?>>):
    %0 = memref.load %t0[%i] : memref<16xui8, strided<[1], offset: ?>>
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %1 = builtin.unrealized_conversion_cast %0 : ui8 to i16
    ark.yield
  }
  ark.return
}

// -----

ark.program @signChangeOfAFloat(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %0 = memref.load %t0[%i] : memref<16xf32, strided<[1], offset: ?>>
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %1 = builtin.unrealized_conversion_cast %0 : f32 to i32
    ark.yield
  }
  ark.return
}

// -----

ark.program @signChangeOfABuffer(%x: memref<16xui8> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xui8> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) {
  ^bb0(%i: index, %t0: memref<16xui8, strided<[1], offset: ?>>, %t1: memref<16xui8, strided<[1], offset: ?>>):
    %0 = memref.load %t0[%i] : memref<16xui8, strided<[1], offset: ?>>
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %1 = builtin.unrealized_conversion_cast %t0 : memref<16xui8, strided<[1], offset: ?>> to memref<16xi8, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @signChangeToAnIndex(%x: memref<16xui32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xui32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xui32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xui32>) {
  ^bb0(%i: index, %t0: memref<16xui32, strided<[1], offset: ?>>, %t1: memref<16xui32, strided<[1], offset: ?>>):
    %0 = memref.load %t0[%i] : memref<16xui32, strided<[1], offset: ?>>
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %1 = builtin.unrealized_conversion_cast %0 : ui32 to index
    ark.yield
  }
  ark.return
}

// -----

ark.program @signChangeOfTwo(%x: memref<16xui8> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xui8> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) {
  ^bb0(%i: index, %t0: memref<16xui8, strided<[1], offset: ?>>, %t1: memref<16xui8, strided<[1], offset: ?>>):
    %0 = memref.load %t0[%i] : memref<16xui8, strided<[1], offset: ?>>
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %1 = builtin.unrealized_conversion_cast %0, %0 : ui8, ui8 to i8
    ark.yield
  }
  ark.return
}

// -----

ark.program @temporaryOfDynamicSize(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{temporary has no static size}}
    %0 = memref.alloca(%i) : memref<?xf32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @temporaryInALoop(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 64 : i64} {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %c1 = arith.constant 1 : index
    scf.for %k = %i to %c1 step %c1 {
      // expected-error @below {{temporary is not at the head of its task}}
      %0 = memref.alloca() : memref<16xf32>
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @uncountedTemporary(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{has temporaries of 64 bytes and shared_memory = 0}}
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %0 = memref.alloca() : memref<16xf32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @twoPackets(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = ark.packets : memref<64xi8>
  // expected-error @below {{is the second buffer of packets of its program}}
  %1 = ark.packets : memref<64xi8>
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

ark.program @castOutsideOfItsBuffer(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf16> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = ark.buffer_cast %x : memref<16xf32> to memref<16xf16, strided<[2], offset: 2>>
  // expected-error @below {{operand 0 reaches outside of its buffer}}
  ark.task "t" grid [1] ins(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf16, strided<[2], offset: 2>>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf16>) {
  ^bb0(%i: index, %t0: memref<16xf16, strided<[2], offset: ?>>, %t1: memref<16xf16, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
