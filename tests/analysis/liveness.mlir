// RUN: ark-opt %s --mlir-disable-threading --split-input-file --ark-test-liveness -o /dev/null | FileCheck %s

// The bytes of two branches without a dependence stay apart, although in
// program order one branch ends before the other begins.
// CHECK:      a after{{$}}
// CHECK-NEXT: b after a{{$}}
// CHECK-NEXT: c after{{$}}
// CHECK-NEXT: d after c{{$}}
// CHECK-NEXT: e after a b c d{{$}}
// CHECK-NEXT: intermediate 0: 16 bytes in a b, may share with{{$}}
// CHECK-NEXT: intermediate 1: 16 bytes in b e, may share with{{$}}
// CHECK-NEXT: intermediate 2: 16 bytes in c d, may share with{{$}}
// CHECK-NEXT: intermediate 3: 16 bytes in d e, may share with{{$}}
// CHECK-NEXT: largest live set: 48
ark.program @branches(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = memref.alloc() : memref<4xf32>
  %1 = memref.alloc() : memref<4xf32>
  %2 = memref.alloc() : memref<4xf32>
  %3 = memref.alloc() : memref<4xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%2[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "d" grid [1] ins(%2[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%3[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "e" grid [1] ins(%1[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>, %3[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %b: memref<4xf32, strided<[1], offset: ?>>, %c: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}

// -----

// A state orders only the tasks that touch the same part of it. Intermediates
// in the arena are distinct although they share bytes.
// CHECK:      write_low after{{$}}
// CHECK-NEXT: write_high after{{$}}
// CHECK-NEXT: read_low after write_low{{$}}
// CHECK-NEXT: overwrite_low after write_low read_low{{$}}
// CHECK-NEXT: intermediate 0: 64 bytes in read_low, may share with 1{{$}}
// CHECK-NEXT: intermediate 1: 64 bytes in overwrite_low, read first, may share with 0{{$}}
// CHECK-NEXT: largest live set: 64
ark.program @states(%s: memref<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %arena = ark.arena : memref<64xi8>
  %c0 = arith.constant 0 : index
  %0 = memref.view %arena[%c0][] : memref<64xi8> to memref<4x4xf32>
  %1 = memref.view %arena[%c0][] : memref<64xi8> to memref<16xf32>
  ark.task "write_low" grid [2] ins() outs(%s[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<4x4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<1x4xf32, strided<[4, 1], offset: ?>>):
    ark.yield
  }
  ark.task "write_high" grid [2] ins() outs(%s[#ark.region<(d0) -> (d0 + 2, 0), [1, 4]>] : memref<4x4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<1x4xf32, strided<[4, 1], offset: ?>>):
    ark.yield
  }
  ark.task "read_low" grid [1] ins(%s[#ark.region<(d0) -> (0, 0), [2, 4]>] : memref<4x4xf32>) outs(%0[#ark.region<(d0) -> (0, 0), [4, 4]>] : memref<4x4xf32>) {
  ^bb0(%i: index, %a: memref<2x4xf32, strided<[4, 1], offset: ?>>, %b: memref<4x4xf32, strided<[4, 1], offset: ?>>):
    ark.yield
  }
  ark.task "overwrite_low" grid [1] ins(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%s[#ark.region<(d0) -> (1, 0), [1, 4]>] : memref<4x4xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<1x4xf32, strided<[4, 1], offset: ?>>):
    ark.yield
  }
  ark.return
}
