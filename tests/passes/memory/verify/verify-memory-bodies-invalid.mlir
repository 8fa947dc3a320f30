// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-verify-memory))' --verify-diagnostics
// RUN: ark-opt %s --split-input-file --pass-pipeline="builtin.module(ark.program(ark-verify-tasks))" --verify-diagnostics

ark.program @loadBeyondTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c16 = arith.constant 16 : index
    // expected-error @below {{may leave 'memref<16xf32, strided<[1], offset: ?>>' in dimension 0}}
    %0 = memref.load %a[%c16] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @loadBeforeTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c-1 = arith.constant -1 : index
    // expected-error @below {{in dimension 0}}
    %0 = memref.load %a[%c-1] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @storeAtAnIndexFromData(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %0 = memref.load %a[%c0] : memref<16xf32, strided<[1], offset: ?>>
    %1 = arith.fptosi %0 : f32 to i64
    %2 = arith.index_cast %1 : i64 to index
    // expected-error @below {{may leave}}
    memref.store %0, %b[%2] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @loopBeyondTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c3 = arith.constant 3 : index
    %c17 = arith.constant 17 : index
    %f = arith.constant 0.0 : f32
    scf.for %j = %c0 to %c17 step %c3 {
      %k = arith.addi %j, %c3 : index
      // expected-error @below {{may leave}}
      memref.store %f, %b[%k] : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @wholeRegionOfAClippedTile(%x: memref<100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<100xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [7] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %f = arith.constant 0.0 : f32
    scf.for %j = %c0 to %c16 step %c1 {
      // expected-error @below {{may leave}}
      memref.store %f, %b[%j] : memref<?xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @subviewBeyondTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c9 = arith.constant 9 : index
    // expected-error @below {{may leave}}
    %0 = memref.subview %a[%c9] [8] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @subviewOfNegativeSize(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %n = arith.subi %i, %i : index
    %c1 = arith.constant 1 : index
    %m = arith.subi %n, %c1 : index
    // expected-error @below {{takes a part of 'memref<16xf32, strided<[1], offset: ?>>' whose bounds are unknown in dimension 0}}
    %0 = memref.subview %a[0] [%m] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @otherMemory(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{may address elements that 'memref<16xf32, strided<[1], offset: ?>>' does not have}}
    %0 = memref.reinterpret_cast %b to offset: [1000], sizes: [16], strides: [1] : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[1], offset: 1000>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @otherStrides(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %base, %offset, %size, %stride = memref.extract_strided_metadata %b : memref<16xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
    // expected-error @below {{may address elements that}}
    %0 = memref.reinterpret_cast %b to offset: [%offset], sizes: [16], strides: [2] : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[2], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @baseOfTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{takes the base pointer of a tile, which reaches memory outside of the tile}}
    %base, %offset, %size, %stride = memref.extract_strided_metadata %b : memref<16xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
    %0 = memref.load %base[] : memref<f32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @shapeLargerThanTheTemporary(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 64 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<16xf32>
    // expected-error @below {{may address elements that}}
    %0 = memref.reinterpret_cast %t to offset: [0], sizes: [4, 4], strides: [5, 1] : memref<16xf32> to memref<4x4xf32, strided<[5, 1]>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @castToMoreElements(%x: memref<100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<100xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [7] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    // expected-error @below {{may leave 'memref<?xf32, strided<[1], offset: ?>>' in dimension 0}}
    %0 = memref.cast %a : memref<?xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @castToAnOffset(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{declares strides or an offset that 'memref<16xf32, strided<[1], offset: ?>>' may not have}}
    %0 = memref.cast %a : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[1]>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @vectorBeyondTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c13 = arith.constant 13 : index
    // expected-error @below {{may leave}}
    %0 = vector.load %a[%c13] : memref<16xf32, strided<[1], offset: ?>>, vector<4xf32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @transferThatPromisesTooMuch(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c13 = arith.constant 13 : index
    %f = arith.constant 0.0 : f32
    // expected-error @below {{may leave}}
    %0 = vector.transfer_read %a[%c13], %f {in_bounds = [true]} : memref<16xf32, strided<[1], offset: ?>>, vector<4xf32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @operandsOfDifferentExtents(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c8 = arith.constant 8 : index
    %s = arith.minsi %i, %c8 : index
    %m = memref.subview %b[0] [%s] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
    // expected-error @below {{may leave 'memref<?xf32, strided<[1], offset: ?>>' in dimension 0}}
    linalg.copy ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%m : memref<?xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @windowBeyondTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 64 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %o = memref.subview %b[0] [14] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<14xf32, strided<[1], offset: ?>>
    %m = arith.constant 4 : index
    %k = memref.alloca() : memref<4xf32>
    %w = memref.subview %k[0] [%m] [1] : memref<4xf32> to memref<?xf32, strided<[1]>>
    %p = memref.cast %a : memref<16xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
    %f = arith.constant 0.0 : f32
    linalg.fill ins(%f : f32) outs(%o : memref<14xf32, strided<[1], offset: ?>>)
    linalg.fill ins(%f : f32) outs(%k : memref<4xf32>)
    // expected-error @below {{may leave}}
    linalg.conv_1d ins(%p, %w : memref<?xf32, strided<[1], offset: ?>>, memref<?xf32, strided<[1]>>) outs(%o : memref<14xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @writeToAnInputTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %f = arith.constant 0.0 : f32
    %0 = memref.subview %a[8] [8] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
    // expected-error @below {{writes to an input of its task}}
    memref.store %f, %0[%c0] : memref<8xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @fillOfAnInputTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    // expected-error @below {{writes to an input of its task}}
    linalg.fill ins(%f : f32) outs(%a : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @chosenBuffer(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c = arith.cmpi eq, %i, %i : index
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %0 = arith.select %c, %a, %b : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @bufferOfALoop(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %0 = scf.for %j = %c0 to %c1 step %c1 iter_args(%k = %a) -> (memref<16xf32, strided<[1], offset: ?>>) {
      scf.yield %b : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @address(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %0 = memref.extract_aligned_pointer_as_index %a : memref<16xf32, strided<[1], offset: ?>> -> index
    ark.yield
  }
  ark.return
}

// -----

ark.program @maskedStore(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %m = arith.constant dense<true> : vector<4xi1>
    %f = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    vector.maskedstore %b[%c0], %m, %f : memref<16xf32, strided<[1], offset: ?>>, vector<4xi1>, vector<4xf32>
    ark.yield
  }
  ark.return
}

// -----

ark.program @temporaryWithStrides(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 256 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{temporary is not dense}}
    %0 = memref.alloca() : memref<4x4xf32, strided<[8, 1]>>
    ark.yield
  }
  ark.return
}

// -----

// An index loaded from the temporary is either the stored value or the previous content.
ark.program @indexInATemporary(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 32 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<4xindex>
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    linalg.fill ins(%c16 : index) outs(%t : memref<4xindex>)
    %0 = memref.load %t[%c0] : memref<4xindex>
    // expected-error @below {{may leave}}
    %1 = memref.load %a[%0] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @indexThatNothingStored(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 32 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<4xindex>
    %c0 = arith.constant 0 : index
    // expected-error @below {{reads a temporary that no structured op has filled before}}
    %0 = memref.load %t[%c0] : memref<4xindex>
    %1 = memref.load %a[%0] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @stridedCastBeyondTheTile(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %part = memref.subview %a[0] [8] [2] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[2], offset: ?>>
    %base, %offset, %size, %stride = memref.extract_strided_metadata %part : memref<8xf32, strided<[2], offset: ?>> -> memref<f32>, index, index, index
    // expected-error @below {{may address elements that}}
    %0 = memref.reinterpret_cast %a to offset: [%offset], sizes: [1, 9], strides: [16, 2] : memref<16xf32, strided<[1], offset: ?>> to memref<1x9xf32, strided<[16, 2], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @offsetOfAnotherPart(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %part = memref.subview %a[1] [8] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
    %base, %offset, %size, %stride = memref.extract_strided_metadata %part : memref<8xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
    // expected-error @below {{may address elements that}}
    %0 = memref.reinterpret_cast %a to offset: [%offset], sizes: [16], strides: [1] : memref<16xf32, strided<[1], offset: ?>> to memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

// The body fills one part of the temporary and reads the other.
ark.program @otherPartOfATemporary(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 128 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<2x8xindex>
    %c0 = arith.constant 0 : index
    %half = memref.subview %t[0, 0] [1, 8] [1, 1] : memref<2x8xindex> to memref<8xindex, strided<[1]>>
    linalg.fill ins(%c0 : index) outs(%half : memref<8xindex, strided<[1]>>)
    %other = memref.subview %t[1, 0] [1, 8] [1, 1] : memref<2x8xindex> to memref<8xindex, strided<[1], offset: 8>>
    // expected-error @below {{reads a temporary that no structured op has filled before}}
    %0 = memref.load %other[%c0] : memref<8xindex, strided<[1], offset: 8>>
    %1 = memref.load %a[%0] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
// The op reads as many values as there are keys.
ark.program @attentionBeyondTheValues(%q: memref<2x8xf32> {ark.kind = #ark.kind<input>, ark.name = "q"}, %k: memref<32x8xf32> {ark.kind = #ark.kind<input>, ark.name = "k"}, %v: memref<16x8xf32> {ark.kind = #ark.kind<input>, ark.name = "v"}, %y: memref<2x8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%q[#ark.region<(d0) -> (0, 0), [2, 8]>] : memref<2x8xf32>, %k[#ark.region<(d0) -> (0, 0), [32, 8]>] : memref<32x8xf32>, %v[#ark.region<(d0) -> (0, 0), [16, 8]>] : memref<16x8xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [2, 8]>] : memref<2x8xf32>) attributes {shared_memory = 4096 : i64} {
  ^bb0(%i: index, %a: memref<2x8xf32, strided<[8, 1], offset: ?>>, %b: memref<32x8xf32, strided<[8, 1], offset: ?>>, %c: memref<16x8xf32, strided<[8, 1], offset: ?>>, %o: memref<2x8xf32, strided<[8, 1], offset: ?>>):
    %rows = memref.alloca() : memref<2xf32>
    %sums = memref.alloca() : memref<2xf32>
    %scores = memref.alloca() : memref<2x32xf32>
    %all = memref.cast %scores : memref<2x32xf32> to memref<2x?xf32>
    %keys = memref.cast %b : memref<32x8xf32, strided<[8, 1], offset: ?>> to memref<?x8xf32, strided<[8, 1], offset: ?>>
    // expected-error @below {{may leave 'memref<16x8xf32, strided<[8, 1], offset: ?>>' in dimension 0}}
    ark.online_attention ins(%a, %keys, %c : memref<2x8xf32, strided<[8, 1], offset: ?>>, memref<?x8xf32, strided<[8, 1], offset: ?>>, memref<16x8xf32, strided<[8, 1], offset: ?>>)
        outs(%o, %rows, %sums, %all : memref<2x8xf32, strided<[8, 1], offset: ?>>, memref<2xf32>, memref<2xf32>, memref<2x?xf32>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb1(%row: index, %key: index, %dot: f32):
      ark.yield %dot : f32
    }
    ark.yield
  }
  ark.return
}

// -----

// As a signed number, the upper bound is -1, and the loop would have no
// iteration.
ark.program @unsignedLoop(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %m = arith.constant -1 : index
    scf.for unsigned %j = %c0 to %m step %c1 {
      // expected-error @below {{may leave}}
      memref.store %f, %b[%j] : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// -----

// 3 * -6148914691236517205 is 1 in 64 bits.
ark.program @productThatWrapsAround(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    %c3 = arith.constant 3 : index
    %k = arith.muli %d, %c3 : index
    %p = arith.cmpi sge, %k, %c0 : index
    %q = arith.cmpi slt, %k, %c3 : index
    %r = arith.andi %p, %q : i1
    scf.if %r {
      // expected-error @below {{may leave}}
      memref.store %f, %b[%d] : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// -----

// A sum beyond 64 bits is small. The comparison of it says nothing.
ark.program @sumThatWrapsAround(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    %c16 = arith.constant 16 : index
    %max = arith.constant 9223372036854775807 : index
    %k = arith.addi %d, %max : index
    %p = arith.cmpi sge, %k, %max : index
    %q = arith.cmpi slt, %d, %c16 : index
    %r = arith.andi %p, %q : i1
    scf.if %r {
      // expected-error @below {{may leave}}
      memref.store %f, %b[%d] : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @negativeStep(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    %c4 = arith.constant 4 : index
    scf.for %j = %c0 to %c4 step %d {
      // expected-error @below {{may leave}}
      memref.store %f, %b[%j] : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// -----

// With an upper bound near 2^63, the variable becomes negative.
ark.program @inductionVariableThatWrapsAround(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    %c7 = arith.constant 7 : index
    %c16 = arith.constant 16 : index
    scf.for %j = %c0 to %d step %c7 {
      %p = arith.cmpi slt, %j, %c16 : index
      scf.if %p {
        // expected-error @below {{may leave}}
        memref.store %f, %b[%j] : memref<16xf32, strided<[1], offset: ?>>
      }
    }
    ark.yield
  }
  ark.return
}

// -----

// A reduction over no element does not write its result.
ark.program @reductionOverNoElement(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 8 : i64} {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<1xindex>
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    %c16 = arith.constant 16 : index
    %huge = arith.constant 4000000000000 : index
    memref.store %huge, %t[%c0] : memref<1xindex>
    %v0 = arith.maxsi %d, %c0 : index
    %v1 = arith.minsi %v0, %c16 : index
    %e = memref.subview %a[0] [%v1] [1] : memref<16xi64, strided<[1], offset: ?>> to memref<?xi64, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%e : memref<?xi64, strided<[1], offset: ?>>) outs(%t : memref<1xindex>) {
    ^bb1(%u: i64, %w: index):
      linalg.yield %c1 : index
    }
    // expected-error @below {{reads a temporary that no structured op has filled before}}
    %n = memref.load %t[%c0] : memref<1xindex>
    memref.store %f, %b[%n] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @readOfAnOutThatIsNotFilled(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    // expected-error @below {{reads an out that no structured op has filled before}}
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%b : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb1(%out: f32):
      %s = arith.negf %out : f32
      linalg.yield %s : f32
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @readOfAPartThatIsNotFilled(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %p = memref.subview %b[0] [8] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
    linalg.fill ins(%f : f32) outs(%p : memref<8xf32, strided<[1], offset: ?>>)
    // expected-error @below {{reads an out that no structured op has filled before}}
    %0 = memref.load %b[%c0] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @divsiByData(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    // expected-error @below {{divides by a number that may be zero or -1; arith.maxsi with a positive constant is a safe divisor}}
    %0 = arith.divsi %v, %v : i64
    ark.yield
  }
  ark.return
}

// -----

ark.program @remuiByData(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    // expected-error @below {{divides by a number that may be zero; arith.maxsi with a positive constant is a safe divisor}}
    %0 = arith.remui %v, %v : i64
    ark.yield
  }
  ark.return
}

// -----

ark.program @divisionByAnIndexFromData(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    // expected-error @below {{divides by a number that may be zero or -1; arith.maxsi with a positive constant is a safe divisor}}
    %0 = arith.floordivsi %c1, %d : index
    ark.yield
  }
  ark.return
}

// -----

// The least number divided by -1 overflows, which ends the process, too.
ark.program @divisionByMinusOne(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %m = arith.constant -1 : i64
    // expected-error @below {{divides by a number that may be zero or -1; arith.maxsi with a positive constant is a safe divisor}}
    %0 = arith.divsi %v, %m : i64
    ark.yield
  }
  ark.return
}

// -----

// Only zero is replaced.
ark.program @divisionByANumberThatMayBeMinusOne(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %m0 = arith.constant 0 : i64
    %m1 = arith.constant 1 : i64
    %z = arith.cmpi eq, %v, %m0 : i64
    %m = arith.select %z, %m1, %v : i64
    // expected-error @below {{divides by a number that may be zero or -1; arith.maxsi with a positive constant is a safe divisor}}
    %0 = arith.divsi %v, %m : i64
    ark.yield
  }
  ark.return
}

// -----

// The odd columns are missing.
ark.program @outFilledInPart(%x: memref<4x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [4, 4]>] : memref<4x4xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [4, 4]>] : memref<4x4xf32>) {
  ^bb0(%i: index, %a: memref<4x4xf32, strided<[4, 1], offset: ?>>, %b: memref<4x4xf32, strided<[4, 1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    %even = memref.subview %b[0, 0] [4, 2] [1, 2] : memref<4x4xf32, strided<[4, 1], offset: ?>> to memref<4x2xf32, strided<[4, 2], offset: ?>>
    linalg.fill ins(%f : f32) outs(%even : memref<4x2xf32, strided<[4, 2], offset: ?>>)
    // The rows of a transposed view are the columns of the out.
    %t = memref.transpose %b (d0, d1) -> (d1, d0) : memref<4x4xf32, strided<[4, 1], offset: ?>> to memref<4x4xf32, strided<[1, 4], offset: ?>>
    %rows = memref.subview %t[0, 1] [4, 2] [1, 2] : memref<4x4xf32, strided<[1, 4], offset: ?>> to memref<4x2xf32, strided<[1, 8], offset: ?>>
    linalg.fill ins(%f : f32) outs(%rows : memref<4x2xf32, strided<[1, 8], offset: ?>>)
    // expected-error @below {{reads an out that no structured op has filled before}}
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%b : memref<4x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%out: f32):
      %0 = arith.negf %out : f32
      linalg.yield %0 : f32
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @outThatIsNotFilled(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{does not fill its out 0}}
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %f = memref.load %a[%c0] : memref<16xf32, strided<[1], offset: ?>>
    memref.store %f, %b[%c0] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

ark.program @outThatOnlyOneBranchFills(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{does not fill its out 0}}
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %f = memref.load %a[%c0] : memref<16xf32, strided<[1], offset: ?>>
    %zero = arith.constant 0.0 : f32
    %positive = arith.cmpf ogt, %f, %zero : f32
    scf.if %positive {
      linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @temporaryFilledAfterItsRead(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 64 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<16xf32>
    %f = arith.constant 0.0 : f32
    // expected-error @below {{reads a temporary that no structured op has filled before}}
    linalg.copy ins(%t : memref<16xf32>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    linalg.fill ins(%f : f32) outs(%t : memref<16xf32>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @temporaryOfWhichAColumnIsNotFilled(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 64 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<4x4xf32>
    %f = arith.constant 0.0 : f32
    %left = memref.subview %t[0, 0] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
    linalg.fill ins(%f : f32) outs(%left : memref<4x2xf32, strided<[4, 1]>>)
    %last = memref.subview %t[0, 3] [4, 1] [1, 1] : memref<4x4xf32> to memref<4x1xf32, strided<[4, 1], offset: 3>>
    linalg.fill ins(%f : f32) outs(%last : memref<4x1xf32, strided<[4, 1], offset: 3>>)
    %all = memref.collapse_shape %t [[0, 1]] : memref<4x4xf32> into memref<16xf32>
    // expected-error @below {{reads a temporary that no structured op has filled before}}
    linalg.copy ins(%all : memref<16xf32>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

ark.program @loopWithoutEnd(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %true = arith.constant true
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    scf.while : () -> () {
      scf.condition(%true)
    } do {
      scf.yield
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @parallelLoop(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %f = arith.constant 0.0 : f32
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    scf.parallel (%j) = (%c0) to (%c16) step (%c1) {
      memref.store %f, %b[%c0] : memref<16xf32, strided<[1], offset: ?>>
      scf.reduce
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @elementOfSeveralIterations(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    // expected-error @below {{may write an element in several iterations of its parallel loop 0}}
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (0)>], iterator_types = ["parallel"]} ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @elementsInReverse(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    // expected-error @below {{reads elements that another iteration may write}}
    linalg.generic {indexing_maps = [affine_map<(d0) -> (15 - d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%b : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @storeInAStructuredOp(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      // expected-error @below {{writes a buffer inside of a structured op}}
      memref.store %in, %b[%c0] : memref<16xf32, strided<[1], offset: ?>>
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @loadOfAWrittenBuffer(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    linalg.copy ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      // expected-error @below {{reads a buffer that the structured op around it writes}}
      %first = memref.load %b[%c0] : memref<16xf32, strided<[1], offset: ?>>
      linalg.yield %first : f32
    }
    ark.yield
  }
  ark.return
}

// -----

// The unsigned maximum of -1 and 1 is -1.
ark.program @divisionByAnUnsignedMaximum(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    %m1 = arith.constant 1 : i64
    %m = arith.maxui %v, %m1 : i64
    // expected-error @below {{divides by a number that may be zero or -1; arith.maxsi with a positive constant is a safe divisor}}
    %0 = arith.remsi %v, %m : i64
    ark.yield
  }
  ark.return
}

// -----

// With a step of zero, the loop would not end.
ark.program @loopWithAStepFromData(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    // expected-error @below {{has a step that may be zero or negative: the loop may not end}}
    scf.for %j = %c0 to %c1 step %d {
    }
    ark.yield
  }
  ark.return
}

// -----

// The addition after the last iteration wraps around.
ark.program @loopUntilTheLastNumber(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c2 = arith.constant 2 : index
    // expected-error @below {{has a step that may exceed 64 bits after the last iteration: the loop may not end}}
    scf.for %j = %c0 to %d step %c2 {
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @loopOverUnsignedNumbers(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    // expected-error @below {{compares unsigned numbers, for which no proof shows that the loop ends}}
    scf.for unsigned %j = %c0 to %c1 step %c1 {
    }
    ark.yield
  }
  ark.return
}

// -----

ark.program @print(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    vector.print %f : f32
    ark.yield
  }
  ark.return
}

// -----

ark.program @elementOfAVectorFromData(%x: memref<16xi64> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi64>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xi64, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %f = arith.constant 0.0 : f32
    %v = memref.load %a[%c0] : memref<16xi64, strided<[1], offset: ?>>
    %d = arith.index_cast %v : i64 to index
    linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %w = arith.constant dense<0.0> : vector<4xf32>
    // expected-error @below {{is not allowed in the body of a task on buffers}}
    %0 = vector.extract %w[%d] : f32 from vector<4xf32>
    ark.yield
  }
  ark.return
}

// -----

// Iteration 63 - i reads what iteration i writes: the tiles are the same bytes.
#reversed = affine_map<(d0) -> (63 - d0)>
#same = affine_map<(d0) -> (d0)>
ark.program @readsWhatItWritesThroughAnotherTile(%x: memref<64xf32> {ark.kind = #ark.kind<state>, ark.name = "x"}) {
  // expected-error @below {{accesses bytes through operand 0 that it writes through out 0; a body reads what it updates through the tile of the out}}
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<64xf32, strided<[1], offset: ?>>, %b: memref<64xf32, strided<[1], offset: ?>>):
    linalg.generic {indexing_maps = [#reversed, #same], iterator_types = ["parallel"]} ins(%a : memref<64xf32, strided<[1], offset: ?>>) outs(%b : memref<64xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}

// -----

// The second out begins at the third element of the first.
ark.program @writesBytesThroughTwoOuts(%x: memref<8xf32> {ark.kind = #ark.kind<state>, ark.name = "x"}) {
  %v = memref.subview %x[2] [4] [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 2>>
  // expected-error @below {{accesses bytes through operand 0 that it writes through out 1}}
  ark.task "t" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<8xf32>, %v[#ark.region<(d0) -> (0), [4]>] : memref<4xf32, strided<[1], offset: 2>>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    linalg.fill ins(%f : f32) outs(%a : memref<4xf32, strided<[1], offset: ?>>)
    linalg.fill ins(%f : f32) outs(%b : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The task fills every other row.
// expected-error @below {{output 'y' has 64 bytes, and no task fills byte 16}}
ark.program @outputWithGaps(%y: memref<4x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [2] ins() outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [1, 4]>] : memref<4x4xf32>) {
  ^bb0(%i: index, %b: memref<1x4xf32, strided<[4, 1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    linalg.fill ins(%f : f32) outs(%b : memref<1x4xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// No op fills element 699,051.
ark.program @largePartsWithAGap(%y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  // expected-error @below {{does not fill its out 0: no structured op of the body writes every element}}
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [2097152]>] : memref<2097152xf32>) {
  ^bb0(%i: index, %b: memref<2097152xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    %p0 = memref.subview %b[0] [699051] [1] : memref<2097152xf32, strided<[1], offset: ?>> to memref<699051xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%p0 : memref<699051xf32, strided<[1], offset: ?>>)
    %p1 = memref.subview %b[699052] [1398100] [1] : memref<2097152xf32, strided<[1], offset: ?>> to memref<1398100xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%p1 : memref<1398100xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
