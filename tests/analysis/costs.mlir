// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-test-print-costs -o /dev/null | FileCheck %s

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// One SM moves 1 byte and computes 10 operations per ns. Reading 288 bytes, of which 256
// are weights, and writing 32 takes 320 ns; 2 * 8 * 8 operations take 13 ns.
// CHECK: fc: reads 1152 bytes, 1024 of them weights, writes 128, 512 flops; first 370 ns, last 370 ns, all 1480 ns
ark.program @memoryBound(
    %x: memref<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: memref<32x8xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "fc" grid [4]
      ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>,
          %w[#ark.region<(d0) -> (d0 * 8, 0), [8, 8]>] : memref<32x8xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<32xf32>) {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<8x8xf32, strided<[8, 1], offset: ?>>, %c: memref<8xf32, strided<[1], offset: ?>>):
    linalg.matvec ins(%b, %a : memref<8x8xf32, strided<[8, 1], offset: ?>>, memref<8xf32, strided<[1], offset: ?>>) outs(%c : memref<8xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
// A hand-off with more arrivals at one counter takes longer, at most as long as a barrier of all SMs.
// CHECK-NEXT: hand-off of 1: 200 ns, of all: 500 ns, signal: 50 ns
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// The last of three vCTAs has 8 of 16 elements. Three SMs share the bandwidth
// of four.
// CHECK: clipped: reads 160 bytes, 0 of them weights, writes 160, 40 flops; first 146 ns, last 98 ns, all 390 ns
ark.program @clippedVCTAsCostLess(
    %x: memref<40xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<40xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "clipped" grid [3]
      ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<40xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<40xf32>) {
  ^bb0(%i: index, %a: memref<?xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    linalg.add ins(%a, %a : memref<?xf32, strided<[1], offset: ?>>, memref<?xf32, strided<[1], offset: ?>>) outs(%b : memref<?xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// The subviews of a ragged product drop the batch dimension: 2 * 4 * 20 * 8 operations.
// CHECK: ragged: {{.*}} 1280 flops
ark.program @raggedProductsOfABatch(
    %x: memref<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: memref<1x8x20xf32> {ark.kind = #ark.kind<input>, ark.name = "w"},
    %y: memref<1x4x20xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "ragged" grid [2]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 8]>] : memref<4x8xf32>,
          %w[#ark.region<(d0) -> (0, 0, d0 * 16), [1, 8, 16]>] : memref<1x8x20xf32>)
      outs(%y[#ark.region<(d0) -> (0, 0, d0 * 16), [1, 4, 16]>] : memref<1x4x20xf32>) {
  ^bb0(%i: index, %a: memref<4x8xf32, strided<[8, 1], offset: ?>>, %b: memref<1x8x?xf32, strided<[160, 20, 1], offset: ?>>, %c: memref<1x4x?xf32, strided<[80, 20, 1], offset: ?>>):
    %c2 = arith.constant 2 : index
    %columns = memref.dim %c, %c2 : memref<1x4x?xf32, strided<[80, 20, 1], offset: ?>>
    %right = memref.subview %b[0, 0, 0] [1, 8, %columns] [1, 1, 1] : memref<1x8x?xf32, strided<[160, 20, 1], offset: ?>> to memref<8x?xf32, strided<[20, 1], offset: ?>>
    %sum = memref.subview %c[0, 0, 0] [1, 4, %columns] [1, 1, 1] : memref<1x4x?xf32, strided<[80, 20, 1], offset: ?>> to memref<4x?xf32, strided<[20, 1], offset: ?>>
    linalg.matmul ins(%a, %right : memref<4x8xf32, strided<[8, 1], offset: ?>>, memref<8x?xf32, strided<[20, 1], offset: ?>>) outs(%sum : memref<4x?xf32, strided<[20, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// A vCTA declares a read of the whole table, but reads two rows of it.
// CHECK: lookup: reads 264 bytes, 256 of them weights
ark.program @rowsThatAreChosenAtRunTime(
    %ids: memref<2xi32> {ark.kind = #ark.kind<input>, ark.name = "ids"},
    %table: memref<1000x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "table"},
    %y: memref<2x32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "lookup" grid [1]
      ins(%ids[#ark.region<(d0) -> (0), [2]>] : memref<2xi32>,
          %table[#ark.region<(d0) -> (0, 0), [1000, 32]>] : memref<1000x32xf32>)
      outs(%y[#ark.region<(d0) -> (0, 0), [2, 32]>] : memref<2x32xf32>) {
  ^bb0(%i: index, %a: memref<2xi32, strided<[1], offset: ?>>, %b: memref<1000x32xf32, strided<[32, 1], offset: ?>>, %c: memref<2x32xf32, strided<[32, 1], offset: ?>>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    scf.for %k = %c0 to %c2 step %c1 {
      %id = memref.load %a[%k] : memref<2xi32, strided<[1], offset: ?>>
      %row = arith.index_cast %id : i32 to index
      %from = memref.subview %b[%row, 0] [1, 32] [1, 1] : memref<1000x32xf32, strided<[32, 1], offset: ?>> to memref<1x32xf32, strided<[32, 1], offset: ?>>
      %to = memref.subview %c[%k, 0] [1, 32] [1, 1] : memref<2x32xf32, strided<[32, 1], offset: ?>> to memref<1x32xf32, strided<[32, 1], offset: ?>>
      memref.copy %from, %to : memref<1x32xf32, strided<[32, 1], offset: ?>> to memref<1x32xf32, strided<[32, 1], offset: ?>>
    }
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// An operand that only expresses a dependence is not read: the task moves 16 bytes in and
// 16 out. One of four SMs moves 2 bytes per ns.
// CHECK: after: reads 16 bytes, 0 of them weights, writes 16, 4 flops; first 66 ns, last 66 ns, all 66 ns
ark.program @dependencesAreNotRead(
    %x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: memref<1024xf32> {ark.kind = #ark.kind<output>, ark.name = "z"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "after" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>,
          %z[#ark.region<(d0) -> (0), [1024]>] : memref<1024xf32>)
      outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<1024xf32, strided<[1], offset: ?>>, %c: memref<4xf32, strided<[1], offset: ?>>):
    linalg.add ins(%a, %a : memref<4xf32, strided<[1], offset: ?>>, memref<4xf32, strided<[1], offset: ?>>) outs(%c : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 4, warps = 1,
    shared_memory = 0, bandwidth = 4, flops = 40, handoff = 200, barrier = 600, overhead = 50>} {
// The model predicts 66 ns per vCTA. The measured time of one task is ten times that, and
// scales the prediction for the other task, whose last vCTA writes half as much.
// CHECK: measured: {{.*}} first 660 ns, last 660 ns, all 1320 ns
// CHECK: other: {{.*}} first 660 ns, last 620 ns, all 1280 ns
ark.program @measuredTasks(
    %x: memref<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<6xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "measured" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>) attributes {ark.measured_ns = 660.0} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    linalg.add ins(%a, %a : memref<4xf32, strided<[1], offset: ?>>, memref<4xf32, strided<[1], offset: ?>>) outs(%b : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "other" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<8xf32>)
      outs(%z[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<6xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<?xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
