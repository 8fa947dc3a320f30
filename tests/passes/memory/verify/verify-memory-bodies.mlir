// The pass proves that these accesses stay within their tiles and temporaries.
// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-verify-memory))' | FileCheck %s

// CHECK-LABEL: ark.program @elements
ark.program @elements(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    scf.for %j = %c0 to %c16 step %c1 {
      %0 = memref.load %a[%j] : memref<16xf32, strided<[1], offset: ?>>
      memref.store %0, %b[%j] : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @vectorsOfALoop
ark.program @vectorsOfALoop(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    scf.for %j = %c0 to %c16 step %c4 {
      %0 = vector.load %a[%j] : memref<16xf32, strided<[1], offset: ?>>, vector<4xf32>
      vector.store %0, %b[%j] : memref<16xf32, strided<[1], offset: ?>>, vector<4xf32>
    }
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @clippedTiles
ark.program @clippedTiles(%x: memref<100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<100xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [7] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %n = memref.dim %a, %c0 : memref<?xf32, strided<[1], offset: ?>>
    scf.for %j = %c0 to %n step %c1 {
      %0 = memref.load %a[%j] : memref<?xf32, strided<[1], offset: ?>>
      memref.store %0, %b[%j] : memref<?xf32, strided<[1], offset: ?>>
    }
    linalg.copy ins(%a : memref<?xf32, strided<[1], offset: ?>>) outs(%b : memref<?xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @extentThatTheBodyComputes
ark.program @extentThatTheBodyComputes(%x: memref<100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<100xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [7] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    %c16 = arith.constant 16 : index
    %c100 = arith.constant 100 : index
    %first = arith.muli %i, %c16 : index
    %left = arith.subi %c100, %first : index
    %n = arith.minsi %left, %c16 : index
    %0 = memref.subview %a[0] [%n] [1] : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
    linalg.copy ins(%0 : memref<?xf32, strided<[1], offset: ?>>) outs(%b : memref<?xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @partsOfAClippedTile
ark.program @partsOfAClippedTile(%x: memref<100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<100xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [7] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<?xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c4 = arith.constant 4 : index
    %n = memref.dim %b, %c0 : memref<?xf32, strided<[1], offset: ?>>
    %f = arith.constant 0.0 : f32
    scf.for %j = %c0 to %n step %c4 {
      %left = arith.subi %n, %j : index
      %m = arith.minsi %c4, %left : index
      %0 = memref.subview %b[%j] [%m] [1] : memref<?xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
      linalg.fill ins(%f : f32) outs(%0 : memref<?xf32, strided<[1], offset: ?>>)
    }
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @quotientAndRemainder
ark.program @quotientAndRemainder(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c16 = arith.constant 16 : index
    %0 = memref.expand_shape %b [[0, 1]] output_shape [4, 4] : memref<16xf32, strided<[1], offset: ?>> into memref<4x4xf32, strided<[4, 1], offset: ?>>
    scf.for %j = %c0 to %c16 step %c1 {
      %q = arith.divsi %j, %c4 : index
      %r = arith.remsi %j, %c4 : index
      %1 = memref.load %a[%j] : memref<16xf32, strided<[1], offset: ?>>
      memref.store %1, %0[%q, %r] : memref<4x4xf32, strided<[4, 1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @guardedIndex
ark.program @guardedIndex(%x: memref<100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<100xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [7] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<100xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<?xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c20 = arith.constant 20 : index
    %n = memref.dim %a, %c0 : memref<?xf32, strided<[1], offset: ?>>
    scf.for %j = %c0 to %c20 step %c1 {
      %inside = arith.cmpi slt, %j, %n : index
      scf.if %inside {
        %0 = memref.load %a[%j] : memref<?xf32, strided<[1], offset: ?>>
        memref.store %0, %b[%j] : memref<?xf32, strided<[1], offset: ?>>
      } else {
        %k = arith.subi %j, %n : index
        %l = arith.minsi %k, %c0 : index
        %0 = memref.load %a[%l] : memref<?xf32, strided<[1], offset: ?>>
        memref.store %0, %b[%l] : memref<?xf32, strided<[1], offset: ?>>
      }
    }
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @checkedIndex
ark.program @checkedIndex(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %0 = memref.load %a[%c0] : memref<16xf32, strided<[1], offset: ?>>
    %1 = arith.fptosi %0 : f32 to i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = ark.check_index %2 below %c16
    memref.store %0, %b[%3] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @clampedIndex
ark.program @clampedIndex(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c15 = arith.constant 15 : index
    %0 = memref.load %a[%c0] : memref<16xf32, strided<[1], offset: ?>>
    %1 = arith.fptosi %0 : f32 to i64
    %2 = arith.index_cast %1 : i64 to index
    %3 = arith.maxsi %2, %c0 : index
    %4 = arith.minsi %3, %c15 : index
    memref.store %0, %b[%4] : memref<16xf32, strided<[1], offset: ?>>
    %5 = arith.cmpi sgt, %2, %c15 : index
    %6 = arith.select %5, %c15, %3 : index
    memref.store %0, %b[%6] : memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @droppedDimensions
ark.program @droppedDimensions(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 1024 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %t = memref.alloca() : memref<1x16x16xf32>
    %base, %offset, %sizes:3, %strides:3 = memref.extract_strided_metadata %t : memref<1x16x16xf32> -> memref<f32>, index, index, index, index, index, index, index
    %0 = memref.reinterpret_cast %t to offset: [0], sizes: [16, 8], strides: [16, 1] : memref<1x16x16xf32> to memref<16x8xf32, strided<[16, 1]>>
    %base_a, %offset_a, %size_a, %stride_a = memref.extract_strided_metadata %a : memref<16xf32, strided<[1], offset: ?>> -> memref<f32>, index, index, index
    %1 = memref.reinterpret_cast %a to offset: [%offset_a], sizes: [1, 12], strides: [7, 1] : memref<16xf32, strided<[1], offset: ?>> to memref<1x12xf32, strided<[7, 1], offset: ?>>
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @paddedRows
ark.program @paddedRows(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 80 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %t = memref.alloca() : memref<20xf32>
    %0 = memref.reinterpret_cast %t to offset: [1], sizes: [4, 4], strides: [5, 1] : memref<20xf32> to memref<4x4xf32, strided<[5, 1], offset: 1>>
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @window
ark.program @window(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 16 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %o = memref.subview %b[0] [13] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<13xf32, strided<[1], offset: ?>>
    %k = memref.alloca() : memref<4xf32>
    %f = arith.constant 0.0 : f32
    linalg.fill ins(%f : f32) outs(%o : memref<13xf32, strided<[1], offset: ?>>)
    linalg.fill ins(%f : f32) outs(%k : memref<4xf32>)
    linalg.fill ins(%f : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    linalg.conv_1d ins(%a, %k : memref<16xf32, strided<[1], offset: ?>>, memref<4xf32>) outs(%o : memref<13xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @transferBeyondTheEnd
ark.program @transferBeyondTheEnd(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c13 = arith.constant 13 : index
    %f = arith.constant 0.0 : f32
    %0 = vector.transfer_read %a[%c13], %f : memref<16xf32, strided<[1], offset: ?>>, vector<4xf32>
    vector.transfer_write %0, %b[%c13] : vector<4xf32>, memref<16xf32, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @indicesInATemporary
ark.program @indicesInATemporary(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 128 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<16xindex>
    %c0 = arith.constant 0 : index
    %c15 = arith.constant 15 : index
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%t : memref<16xindex>) {
    ^bb0(%in: f32, %out: index):
      %j = linalg.index 0 : index
      %k = arith.subi %c15, %j : index
      linalg.yield %k : index
    }
    memref.store %c15, %t[%c0] : memref<16xindex>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%t : memref<16xindex>) outs(%b : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: index, %out: f32):
      %0 = memref.load %a[%in] : memref<16xf32, strided<[1], offset: ?>>
      linalg.yield %0 : f32
    }
    // Larger values that are stored after the read do not matter.
    %c16 = arith.constant 16 : index
    linalg.fill ins(%c16 : index) outs(%t : memref<16xindex>)
    ark.yield
  }
  ark.return
}

// Canonicalisation yields this form for a slice that drops a dimension.
// CHECK-LABEL: ark.program @everySecond
ark.program @everySecond(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %part = memref.subview %a[0] [8] [2] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[2], offset: ?>>
    %base, %offset, %size, %stride = memref.extract_strided_metadata %part : memref<8xf32, strided<[2], offset: ?>> -> memref<f32>, index, index, index
    %0 = memref.reinterpret_cast %a to offset: [%offset], sizes: [1, 8], strides: [16, 2] : memref<16xf32, strided<[1], offset: ?>> to memref<1x8xf32, strided<[16, 2], offset: ?>>
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @indicesThroughViews
ark.program @indicesThroughViews(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 128 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %t = memref.alloca() : memref<2x8xindex>
    %c15 = arith.constant 15 : index
    %all = memref.reinterpret_cast %t to offset: [0], sizes: [16], strides: [1] : memref<2x8xindex> to memref<16xindex, strided<[1]>>
    linalg.fill ins(%c15 : index) outs(%all : memref<16xindex, strided<[1]>>)
    %half = memref.subview %t[1, 0] [1, 8] [1, 1] : memref<2x8xindex> to memref<8xindex, strided<[1], offset: 8>>
    %part = memref.subview %b[0] [8] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%half : memref<8xindex, strided<[1], offset: 8>>) outs(%part : memref<8xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: index, %out: f32):
      %0 = memref.load %a[%in] : memref<16xf32, strided<[1], offset: ?>>
      linalg.yield %0 : f32
    }
    ark.yield
  }
  ark.return
}

// The step past the last iteration fits into 64 bits, so that the induction
// variable only grows.
// CHECK-LABEL: ark.program @loopWithAStepFromData
ark.program @loopWithAStepFromData(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c16 = arith.constant 16 : index
    %f = memref.load %a[%c0] : memref<16xf32, strided<[1], offset: ?>>
    %0 = arith.fptosi %f : f32 to i64
    %1 = arith.index_cast %0 : i64 to index
    %2 = arith.maxsi %1, %c1 : index
    %3 = arith.minsi %2, %c8 : index
    scf.for %j = %c0 to %c16 step %3 {
      memref.store %f, %b[%j] : memref<16xf32, strided<[1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}

// An update reads its out. A reduction over at least one element fills its
// result.
// CHECK-LABEL: ark.program @readsOfOuts
ark.program @readsOfOuts(%x: memref<16x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %s: memref<16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [16, 4]>] : memref<16x4xf32>) outs(%s[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {in_place, fresh_outs = array<i64: 1>} {
  ^bb0(%i: index, %a: memref<16x4xf32, strided<[4, 1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>, %c: memref<16xf32, strided<[1], offset: ?>>):
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<16x4xf32, strided<[4, 1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %out : f32
      linalg.yield %0 : f32
    }
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%a : memref<16x4xf32, strided<[4, 1], offset: ?>>) outs(%c : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%c : memref<16xf32, strided<[1], offset: ?>>) {
    ^bb0(%out: f32):
      %0 = arith.negf %out : f32
      linalg.yield %0 : f32
    }
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @divisors
ark.program @divisors(%x: memref<16xi32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xi32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %a: memref<16xi32, strided<[1], offset: ?>>, %b: memref<16xi32, strided<[1], offset: ?>>):
    %c1 = arith.constant 1 : i32
    %c0 = arith.constant 0 : i32
    %c-1 = arith.constant -1 : i32
    %c-3 = arith.constant -3 : i32
    %k1 = arith.constant 1 : index
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} ins(%a : memref<16xi32, strided<[1], offset: ?>>) outs(%b : memref<16xi32, strided<[1], offset: ?>>) {
    ^bb0(%in: i32, %out: i32):
      %0 = arith.maxsi %in, %c1 : i32
      %1 = arith.divsi %in, %0 : i32
      %2 = arith.remsi %1, %c-3 : i32
      %3 = linalg.index 0 : index
      %4 = arith.addi %3, %k1 : index
      %5 = arith.remui %3, %4 : index
      %6 = arith.cmpi eq, %in, %c0 : i32
      %7 = arith.cmpi eq, %in, %c-1 : i32
      %8 = arith.ori %6, %7 : i1
      %9 = arith.select %8, %c1, %in : i32
      %10 = arith.divsi %2, %9 : i32
      %11 = arith.select %6, %c1, %in : i32
      %12 = arith.divui %10, %11 : i32
      linalg.yield %12 : i32
    }
    ark.yield
  }
  ark.return
}

// Two ops fill the even and the odd columns of an out, of which a third op
// reads all.
// CHECK-LABEL: ark.program @outFilledInParts
ark.program @outFilledInParts(%x: memref<5x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<5x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [3] ins(%x[#ark.region<(d0) -> (d0 * 2, 0), [2, 4]>] : memref<5x4xf32>) outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 4]>] : memref<5x4xf32>) {
  ^bb0(%i: index, %a: memref<?x4xf32, strided<[4, 1], offset: ?>>, %b: memref<?x4xf32, strided<[4, 1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %f = arith.constant 0.0 : f32
    %n = memref.dim %b, %c0 : memref<?x4xf32, strided<[4, 1], offset: ?>>
    %even = memref.subview %b[0, 0] [%n, 2] [1, 2] : memref<?x4xf32, strided<[4, 1], offset: ?>> to memref<?x2xf32, strided<[4, 2], offset: ?>>
    linalg.fill ins(%f : f32) outs(%even : memref<?x2xf32, strided<[4, 2], offset: ?>>)
    %odd = memref.subview %b[0, 1] [%n, 2] [1, 2] : memref<?x4xf32, strided<[4, 1], offset: ?>> to memref<?x2xf32, strided<[4, 2], offset: ?>>
    linalg.fill ins(%f : f32) outs(%odd : memref<?x2xf32, strided<[4, 2], offset: ?>>)
    linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} outs(%b : memref<?x4xf32, strided<[4, 1], offset: ?>>) {
    ^bb0(%out: f32):
      %0 = arith.negf %out : f32
      linalg.yield %0 : f32
    }
    ark.yield
  }
  ark.return
}

// A cast and a part fill the halves of a temporary.
// CHECK-LABEL: ark.program @temporaryFilledInParts
ark.program @temporaryFilledInParts(%x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {shared_memory = 64 : i64} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    %t = memref.alloca() : memref<2x8xf32>
    %f = arith.constant 0.0 : f32
    %0 = memref.reinterpret_cast %t to offset: [0], sizes: [8], strides: [1] : memref<2x8xf32> to memref<8xf32, strided<[1]>>
    linalg.fill ins(%f : f32) outs(%0 : memref<8xf32, strided<[1]>>)
    %1 = memref.subview %t[1, 0] [1, 8] [1, 1] : memref<2x8xf32> to memref<8xf32, strided<[1], offset: 8>>
    linalg.fill ins(%f : f32) outs(%1 : memref<8xf32, strided<[1], offset: 8>>)
    %2 = memref.collapse_shape %t [[0, 1]] : memref<2x8xf32> into memref<16xf32>
    linalg.copy ins(%2 : memref<16xf32>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// Two tasks fill an output together. A task reads a row of a state and updates another one.
// CHECK-LABEL: ark.program @disjointParts
ark.program @disjointParts(%s: memref<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}, %y: memref<4x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %v = memref.subview %y[0, 0] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1]>>
  %w = memref.subview %y[0, 2] [4, 2] [1, 1] : memref<4x4xf32> to memref<4x2xf32, strided<[4, 1], offset: 2>>
  ark.task "left" grid [2] ins() outs(%v[#ark.region<(d0) -> (d0 * 2, 0), [2, 2]>] : memref<4x2xf32, strided<[4, 1]>>) {
  ^bb0(%i: index, %b: memref<2x2xf32, strided<[4, 1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    linalg.fill ins(%f : f32) outs(%b : memref<2x2xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.task "right" grid [4] ins() outs(%w[#ark.region<(d0) -> (3 - d0, 0), [1, 2]>] : memref<4x2xf32, strided<[4, 1], offset: 2>>) {
  ^bb0(%i: index, %b: memref<1x2xf32, strided<[4, 1], offset: ?>>):
    %f = arith.constant 0.0 : f32
    linalg.fill ins(%f : f32) outs(%b : memref<1x2xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.task "row" grid [2] ins(%s[#ark.region<(d0) -> (d0 * 2, 0), [1, 4]>] : memref<4x4xf32>) outs(%s[#ark.region<(d0) -> (d0 * 2 + 1, 0), [1, 4]>] : memref<4x4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<1x4xf32, strided<[4, 1], offset: ?>>, %b: memref<1x4xf32, strided<[4, 1], offset: ?>>):
    linalg.copy ins(%a : memref<1x4xf32, strided<[4, 1], offset: ?>>) outs(%b : memref<1x4xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// Ops fill a tile of two million elements in parts.
// CHECK-LABEL: ark.program @largeParts
ark.program @largeParts(%y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [2097152]>] : memref<2097152xf32>) {
  ^bb0(%i: index, %b: memref<2097152xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    %p0 = memref.subview %b[0] [699051] [1] : memref<2097152xf32, strided<[1], offset: ?>> to memref<699051xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%p0 : memref<699051xf32, strided<[1], offset: ?>>)
    %p1 = memref.subview %b[699051] [699051] [1] : memref<2097152xf32, strided<[1], offset: ?>> to memref<699051xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%p1 : memref<699051xf32, strided<[1], offset: ?>>)
    %p2 = memref.subview %b[1398102] [699050] [1] : memref<2097152xf32, strided<[1], offset: ?>> to memref<699050xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%p2 : memref<699050xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// CHECK-LABEL: ark.program @overlappingParts
ark.program @overlappingParts(%y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [2097152]>] : memref<2097152xf32>) {
  ^bb0(%i: index, %b: memref<2097152xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    %p0 = memref.subview %b[0] [1400000] [1] : memref<2097152xf32, strided<[1], offset: ?>> to memref<1400000xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%p0 : memref<1400000xf32, strided<[1], offset: ?>>)
    %p1 = memref.subview %b[1398102] [699050] [1] : memref<2097152xf32, strided<[1], offset: ?>> to memref<699050xf32, strided<[1], offset: ?>>
    linalg.fill ins(%zero : f32) outs(%p1 : memref<699050xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
