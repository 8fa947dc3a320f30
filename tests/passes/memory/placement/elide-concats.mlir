// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-elide-concats))' | FileCheck %s

// Two tasks fill the halves of a tensor. The tasks write to the tensor itself, and no task copies.
// CHECK-LABEL: ark.program @whole
// CHECK: %[[ALL:.+]] = memref.alloc() : memref<2x64xf32>
// CHECK-NOT: memref.alloc
// CHECK: %[[FIRST:.+]] = memref.reinterpret_cast %[[ALL]] to offset: [0], sizes: [64], strides: [1]
// CHECK: ark.task "a" {{.+}} outs(%[[FIRST]]
// CHECK: %[[SECOND:.+]] = memref.reinterpret_cast %[[ALL]] to offset: [64], sizes: [64], strides: [1]
// CHECK: ark.task "b" {{.+}} outs(%[[SECOND]]
// CHECK-NOT: ark.task "join"
// CHECK: ark.task "read" {{.+}} ins(%[[ALL]]
ark.program @whole(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<2x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %ra = memref.reinterpret_cast %a to offset: [0], sizes: [1, 64], strides: [64, 1] : memref<64xf32> to memref<1x64xf32>
  %rb = memref.reinterpret_cast %b to offset: [0], sizes: [1, 64], strides: [64, 1] : memref<64xf32> to memref<1x64xf32>
  %all = memref.alloc() : memref<2x64xf32>
  ark.task "join" grid [2] ins(%ra[#ark.region<(d0) -> (0, d0 * 32), [1, 32]>] : memref<1x64xf32>, %rb[#ark.region<(d0) -> (0, d0 * 32), [1, 32]>] : memref<1x64xf32>) outs(%all[#ark.region<(d0) -> (0, d0 * 32), [2, 32]>] : memref<2x64xf32>) {
  ^bb0(%i: index, %t0: memref<1x32xf32, strided<[64, 1], offset: ?>>, %t1: memref<1x32xf32, strided<[64, 1], offset: ?>>, %t2: memref<2x32xf32, strided<[64, 1], offset: ?>>):
    %s0 = memref.subview %t2[0, 0] [1, 32] [1, 1] : memref<2x32xf32, strided<[64, 1], offset: ?>> to memref<1x32xf32, strided<[64, 1], offset: ?>>
    linalg.copy ins(%t0 : memref<1x32xf32, strided<[64, 1], offset: ?>>) outs(%s0 : memref<1x32xf32, strided<[64, 1], offset: ?>>)
    %s1 = memref.subview %t2[1, 0] [1, 32] [1, 1] : memref<2x32xf32, strided<[64, 1], offset: ?>> to memref<1x32xf32, strided<[64, 1], offset: ?>>
    linalg.copy ins(%t1 : memref<1x32xf32, strided<[64, 1], offset: ?>>) outs(%s1 : memref<1x32xf32, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>) {
  ^bb0(%i: index, %t0: memref<2x64xf32, strided<[64, 1], offset: ?>>, %t1: memref<2x64xf32, strided<[64, 1], offset: ?>>):
    linalg.copy ins(%t0 : memref<2x64xf32, strided<[64, 1], offset: ?>>) outs(%t1 : memref<2x64xf32, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Another task reads the first slice, which it finds in the result.
// CHECK-LABEL: ark.program @reader
// CHECK: %[[ALL:.+]] = memref.alloc() : memref<128xf32>
// CHECK: %[[A:.+]] = memref.reinterpret_cast %[[ALL]] to offset: [0], sizes: [64]
// CHECK: ark.task "b" {{.+}} ins(%[[A]]
// CHECK-NOT: ark.task "join"
// CHECK: ark.return
ark.program @reader(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The second slice would begin within a cache line.
// CHECK-LABEL: ark.program @unaligned
// CHECK: ark.task "join"
ark.program @unaligned(%x: memref<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<8xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%a[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %t0: memref<8xf32, strided<[1], offset: ?>>, %t1: memref<8xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<8xf32, strided<[1], offset: ?>>) outs(%t1 : memref<8xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<8xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%b[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) {
  ^bb0(%i: index, %t0: memref<8xf32, strided<[1], offset: ?>>, %t1: memref<8xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<8xf32, strided<[1], offset: ?>>) outs(%t1 : memref<8xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<16xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>, %b[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>) outs(%all[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<8xf32, strided<[1], offset: ?>>, %t1: memref<8xf32, strided<[1], offset: ?>>, %t2: memref<16xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [8] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<8xf32, strided<[1], offset: ?>>) outs(%s0 : memref<8xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[8] [8] [1] : memref<16xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<8xf32, strided<[1], offset: ?>>) outs(%s1 : memref<8xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<16xf32, strided<[1], offset: ?>>) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The result is memory of the caller, to which other ranks cannot write.
// CHECK-LABEL: ark.program @of_caller
// CHECK: ark.task "join"
ark.program @of_caller(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A slice is memory of the caller.
// CHECK-LABEL: ark.program @input
// CHECK: ark.task "join"
ark.program @input(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// One intermediate fills both slices.
// CHECK-LABEL: ark.program @twice
// CHECK: ark.task "join"
ark.program @twice(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The task does more than copy.
// CHECK-LABEL: ark.program @more_work
// CHECK: ark.task "join"
ark.program @more_work(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A later task overwrites the first slice's buffer, but not the result.
// CHECK-LABEL: ark.program @rewritten
// CHECK: ark.task "join"
ark.program @rewritten(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "again" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The slices are columns, which are not contiguous in the result.
// CHECK-LABEL: ark.program @columns
// CHECK: ark.task "join"
ark.program @columns(%x: memref<2x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<2x128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<2x64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>) outs(%a[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>) {
  ^bb0(%i: index, %t0: memref<2x64xf32, strided<[64, 1], offset: ?>>, %t1: memref<2x64xf32, strided<[64, 1], offset: ?>>):
    linalg.copy ins(%t0 : memref<2x64xf32, strided<[64, 1], offset: ?>>) outs(%t1 : memref<2x64xf32, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<2x64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>) outs(%b[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>) {
  ^bb0(%i: index, %t0: memref<2x64xf32, strided<[64, 1], offset: ?>>, %t1: memref<2x64xf32, strided<[64, 1], offset: ?>>):
    linalg.copy ins(%t0 : memref<2x64xf32, strided<[64, 1], offset: ?>>) outs(%t1 : memref<2x64xf32, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<2x128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>, %b[#ark.region<(d0) -> (0, 0), [2, 64]>] : memref<2x64xf32>) outs(%all[#ark.region<(d0) -> (0, 0), [2, 128]>] : memref<2x128xf32>) {
  ^bb0(%i: index, %t0: memref<2x64xf32, strided<[64, 1], offset: ?>>, %t1: memref<2x64xf32, strided<[64, 1], offset: ?>>, %t2: memref<2x128xf32, strided<[128, 1], offset: ?>>):
    %s0 = memref.subview %t2[0, 0] [2, 64] [1, 1] : memref<2x128xf32, strided<[128, 1], offset: ?>> to memref<2x64xf32, strided<[128, 1], offset: ?>>
    linalg.copy ins(%t0 : memref<2x64xf32, strided<[64, 1], offset: ?>>) outs(%s0 : memref<2x64xf32, strided<[128, 1], offset: ?>>)
    %s1 = memref.subview %t2[0, 64] [2, 64] [1, 1] : memref<2x128xf32, strided<[128, 1], offset: ?>> to memref<2x64xf32, strided<[128, 1], offset: ?>>
    linalg.copy ins(%t1 : memref<2x64xf32, strided<[64, 1], offset: ?>>) outs(%s1 : memref<2x64xf32, strided<[128, 1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0, 0), [2, 128]>] : memref<2x128xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [2, 128]>] : memref<2x128xf32>) {
  ^bb0(%i: index, %t0: memref<2x128xf32, strided<[128, 1], offset: ?>>, %t1: memref<2x128xf32, strided<[128, 1], offset: ?>>):
    linalg.copy ins(%t0 : memref<2x128xf32, strided<[128, 1], offset: ?>>) outs(%t1 : memref<2x128xf32, strided<[128, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// No slice fills elements 64 to 79 of the result.
// CHECK-LABEL: ark.program @gap
// CHECK: ark.task "join"
ark.program @gap(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<144xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<144xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [144]>] : memref<144xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<144xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<144xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[80] [64] [1] : memref<144xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [144]>] : memref<144xf32>) outs(%y[#ark.region<(d0) -> (0), [144]>] : memref<144xf32>) {
  ^bb0(%i: index, %t0: memref<144xf32, strided<[1], offset: ?>>, %t1: memref<144xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<144xf32, strided<[1], offset: ?>>) outs(%t1 : memref<144xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A later task overwrites the result, but not the slices.
// CHECK-LABEL: ark.program @result_rewritten
// CHECK: ark.task "join"
ark.program @result_rewritten(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %z = memref.alloc() : memref<128xf32>
  ark.task "z" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%z[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "again" grid [1] ins(%z[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A task updates the second slice in place.
// CHECK-LABEL: ark.program @updated
// CHECK: ark.task "join"
ark.program @updated(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "update" grid [1] ins(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) attributes {in_place} {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Rank 0 puts its slice into the result on rank 1, where another task reads the slice.
// CHECK-LABEL: ark.program @ranks
// CHECK: %[[ALL:.+]] = memref.alloc() : memref<128xf32>
// CHECK: %[[A:.+]] = memref.reinterpret_cast %[[ALL]] to offset: [0], sizes: [64]
// CHECK: ark.task "put" {{.+}} outs(%[[A]]
// CHECK: ark.task "b" {{.+}} ins(%[[A]]
// CHECK-NOT: ark.task "join"
// CHECK: ark.return
ark.program @ranks(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}, %y: memref<128xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %a = memref.alloc() : memref<64xf32>
  ark.task "put" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf32>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<128xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%t1 : memref<128xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The inner concatenation disappears. Then two tasks write its result, so the outer one stays.
// CHECK-LABEL: ark.program @chained
// CHECK-NOT: ark.task "inner"
// CHECK: ark.task "join"
ark.program @chained(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<192xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %ab = memref.alloc() : memref<128xf32>
  ark.task "inner" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%ab[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %c = memref.alloc() : memref<64xf32>
  ark.task "c" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%c[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<192xf32>
  ark.task "join" grid [1] ins(%ab[#ark.region<(d0) -> (0), [128]>] : memref<128xf32>, %c[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [192]>] : memref<192xf32>) {
  ^bb0(%i: index, %t0: memref<128xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<192xf32, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [128] [1] : memref<192xf32, strided<[1], offset: ?>> to memref<128xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<128xf32, strided<[1], offset: ?>>) outs(%s0 : memref<128xf32, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[128] [64] [1] : memref<192xf32, strided<[1], offset: ?>> to memref<64xf32, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [192]>] : memref<192xf32>) outs(%y[#ark.region<(d0) -> (0), [192]>] : memref<192xf32>) {
  ^bb0(%i: index, %t0: memref<192xf32, strided<[1], offset: ?>>, %t1: memref<192xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<192xf32, strided<[1], offset: ?>>) outs(%t1 : memref<192xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// The copies convert elements.
// CHECK-LABEL: ark.program @types
// CHECK: ark.task "join"
ark.program @types(%x: memref<64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<128xf16> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %a = memref.alloc() : memref<64xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %b = memref.alloc() : memref<64xf32>
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  %all = memref.alloc() : memref<128xf16>
  ark.task "join" grid [1] ins(%a[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %b[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf16>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<128xf16, strided<[1], offset: ?>>):
    %s0 = memref.subview %t2[0] [64] [1] : memref<128xf16, strided<[1], offset: ?>> to memref<64xf16, strided<[1], offset: ?>>
    linalg.copy ins(%t0 : memref<64xf32, strided<[1], offset: ?>>) outs(%s0 : memref<64xf16, strided<[1], offset: ?>>)
    %s1 = memref.subview %t2[64] [64] [1] : memref<128xf16, strided<[1], offset: ?>> to memref<64xf16, strided<[1], offset: ?>>
    linalg.copy ins(%t1 : memref<64xf32, strided<[1], offset: ?>>) outs(%s1 : memref<64xf16, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%all[#ark.region<(d0) -> (0), [128]>] : memref<128xf16>) outs(%y[#ark.region<(d0) -> (0), [128]>] : memref<128xf16>) {
  ^bb0(%i: index, %t0: memref<128xf16, strided<[1], offset: ?>>, %t1: memref<128xf16, strided<[1], offset: ?>>):
    linalg.copy ins(%t0 : memref<128xf16, strided<[1], offset: ?>>) outs(%t1 : memref<128xf16, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
