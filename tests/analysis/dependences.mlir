// Without --mlir-disable-threading, programs are printed concurrently by several threads.
// RUN: ark-opt %s --mlir-disable-threading --ark-test-print-dependences -o /dev/null | FileCheck %s

// CHECK-LABEL: program @tilesDependOneByOne
// CHECK-NEXT: RAW a.1 -> b.0
// CHECK-NEXT:   [0, 1) <- [0, 1)
// CHECK-NEXT:   [1, 2) <- [1, 2)
// CHECK-NOT: {{.}}
ark.program @tilesDependOneByOne(
    %x: memref<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<128xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<128xi8> to memref<32xf32>
  ark.task "a" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
      outs(%t[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%t[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// Tiles of 12 elements depend on tiles of 16 elements; the last tile of each is clipped.
// CHECK-LABEL: program @tilesOfDifferentWidths
// CHECK-NEXT: RAW a.0 -> b.0
// CHECK-NEXT:   [0, 1) <- [0, 2)
// CHECK-NEXT:   [1, 2) <- [1, 3)
ark.program @tilesOfDifferentWidths(%y: memref<30xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<128xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<128xi8> to memref<30xf32>
  ark.task "a" grid [3] ins() outs(%t[#ark.region<(d0) -> (d0 * 12), [12]>] : memref<30xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%t[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<30xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<30xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// A matmul reads whole rows: vCTAs of one row of tiles need the same producers.
// CHECK-LABEL: program @rowsOfTiles
// CHECK-NEXT: RAW a.0 -> b.0
// CHECK-NEXT:   [0, 3) <- [0, 2)
// CHECK-NEXT:   [3, 6) <- [2, 4)
ark.program @rowsOfTiles(%y: memref<8x24xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<512xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<512xi8> to memref<8x16xf32>
  ark.task "a" grid [2, 2] ins() outs(%t[#ark.region<(d0, d1) -> (d0 * 4, d1 * 8), [4, 8]>] : memref<8x16xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<4x8xf32, strided<[16, 1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2, 3] ins(%t[#ark.region<(d0, d1) -> (d0 * 4, 0), [4, 16]>] : memref<8x16xf32>)
      outs(%y[#ark.region<(d0, d1) -> (d0 * 4, d1 * 8), [4, 8]>] : memref<8x24xf32>) {
  ^bb0(%i: index, %j: index, %a: memref<4x16xf32, strided<[16, 1], offset: ?>>, %b: memref<4x8xf32, strided<[24, 1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// One task writes columns of a buffer, another one reads them as heads: [4, 12]
// against [4, 3, 4], and transposed.
// CHECK-LABEL: program @viewsOfDifferentRanks
// CHECK-NEXT: RAW a.0 -> heads.0
// CHECK-NEXT:   [0, 1) <- [0, 1)
// CHECK-NEXT:   [1, 2) <- [0, 2)
// CHECK-NEXT:   [2, 3) <- [1, 2)
// CHECK-NEXT: RAW a.0 -> transposed.0
// CHECK-NEXT:   [0, 1) <- [0, 1)
// CHECK-NEXT:   [1, 2) <- [1, 2)
ark.program @viewsOfDifferentRanks(%y: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "y"}) {
  %arena = ark.arena : memref<192xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<192xi8> to memref<4x12xf32>
  %h = memref.reinterpret_cast %t to offset: [0], sizes: [4, 3, 4], strides: [12, 4, 1]
    : memref<4x12xf32> to memref<4x3x4xf32, strided<[12, 4, 1]>>
  %tt = memref.reinterpret_cast %t to offset: [0], sizes: [12, 4], strides: [1, 12]
    : memref<4x12xf32> to memref<12x4xf32, strided<[1, 12]>>
  ark.task "a" grid [2] ins() outs(%t[#ark.region<(d0) -> (0, d0 * 6), [4, 6]>] : memref<4x12xf32>) {
  ^bb0(%i: index, %a: memref<4x6xf32, strided<[12, 1], offset: ?>>):
    ark.yield
  }
  ark.task "heads" grid [3] ins(%h[#ark.region<(d0) -> (0, d0, 0), [4, 1, 4]>] : memref<4x3x4xf32, strided<[12, 4, 1]>>) outs() {
  ^bb0(%i: index, %a: memref<4x1x4xf32, strided<[12, 4, 1], offset: ?>>):
    ark.yield
  }
  ark.task "transposed" grid [2] ins(%tt[#ark.region<(d0) -> (d0 * 6, 0), [6, 4]>] : memref<12x4xf32, strided<[1, 12]>>) outs() {
  ^bb0(%i: index, %a: memref<6x4xf32, strided<[1, 12], offset: ?>>):
    ark.yield
  }
  ark.return
}

// The bytes of one f32 tile are the bytes of another tile of f16.
// CHECK-LABEL: program @arenaIsReusedInAnotherType
// CHECK-NEXT: RAW a.0 -> b.0
// CHECK-NEXT:   [0, 2) <- [0, 2)
// CHECK-NEXT: WAW a.0 -> c.0
// CHECK-NEXT:   [0, 2) <- [0, 1)
// CHECK-NEXT:   [2, 4) <- [1, 2)
// CHECK-NEXT: WAR b.0 -> c.0
// CHECK-NEXT:   [0, 4) <- [0, 2)
ark.program @arenaIsReusedInAnotherType(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %t = memref.view %arena[%c0][] : memref<64xi8> to memref<8xf32>
  %u = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf16>
  ark.task "a" grid [2] ins() outs(%t[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%t[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [4] ins() outs(%u[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<16xf16>) {
  ^bb0(%i: index, %a: memref<4xf16, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// A read depends only on the last write of a byte.
// CHECK-LABEL: program @overwrittenBytesAreForgotten
// CHECK-NEXT: WAW a.0 -> b.0
// CHECK-NEXT:   [0, 1) <- [0, 1)
// CHECK-NEXT: RAW a.0 -> c.0
// CHECK-NEXT:   [0, 1) <- [0, 1)
// CHECK-NEXT: RAW b.0 -> c.0
// CHECK-NEXT:   [0, 1) <- [0, 1)
// CHECK-NEXT: RAW b.0 -> d.0
// CHECK-NEXT:   [0, 1) <- [0, 1)
ark.program @overwrittenBytesAreForgotten(%y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %half = memref.reinterpret_cast %y to offset: [4], sizes: [4], strides: [1] : memref<8xf32> to memref<4xf32, strided<[1], offset: 4>>
  ark.task "a" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins() outs(%half[#ark.region<(d0) -> (0), [4]>] : memref<4xf32, strided<[1], offset: 4>>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [1] ins(%y[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs() {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "d" grid [1] ins(%half[#ark.region<(d0) -> (0), [4]>] : memref<4xf32, strided<[1], offset: 4>>) outs() {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// A data-dependent update declares everything that it may touch, so its vCTAs
// run one after the other, in the order of their grid.
// CHECK-LABEL: program @updatesInPlace
// CHECK-NEXT: WAW update.1 -> update.1
// CHECK-NEXT:   [1, 2) <- [0, 1)
// CHECK-NEXT:   [2, 3) <- [0, 2)
ark.program @updatesInPlace(
    %x: memref<3x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %state: memref<16x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  ark.task "update" grid [3] ins(%x[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<3x4xf32>)
      outs(%state[#ark.region<(d0) -> (0, 0), [16, 4]>] : memref<16x4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<1x4xf32, strided<[4, 1], offset: ?>>, %b: memref<16x4xf32, strided<[4, 1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// All elements of a broadcast are one element in memory; a scalar has no dimensions.
// CHECK-LABEL: program @broadcastsAndScalars
// CHECK-NEXT: RAW a.0 -> b.0
// CHECK-NEXT:   [0, 2) <- [0, 1)
// CHECK-NEXT: RAW a.1 -> b.1
// CHECK-NEXT:   [0, 2) <- [0, 1)
ark.program @broadcastsAndScalars(
    %x: memref<1xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %s: memref<f32> {ark.kind = #ark.kind<output>, ark.name = "s"}) {
  %b = memref.reinterpret_cast %x to offset: [0], sizes: [8], strides: [0] : memref<1xf32> to memref<8xf32, strided<[0]>>
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [1]>] : memref<1xf32>, %s[#ark.region<(d0) -> (), []>] : memref<f32>) {
  ^bb0(%i: index, %t: memref<1xf32, strided<[1], offset: ?>>, %u: memref<f32, strided<[], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [2] ins(%b[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32, strided<[0]>>, %s[#ark.region<(d0) -> (), []>] : memref<f32>) outs() {
  ^bb0(%i: index, %t: memref<4xf32, strided<[0], offset: ?>>, %u: memref<f32, strided<[], offset: ?>>):
    ark.yield
  }
  ark.return
}
