// RUN: ark-opt %s --split-input-file --ark-outline-bodies --ark-deduplicate-bodies | FileCheck %s

// Names of tasks and values, offsets of operands and locations do not distinguish bodies.
// CHECK-LABEL: ark.program @equalTasksShareABody
// CHECK: ark.task "first" {{.+}} {ark.body = @body_square,
// CHECK: ark.task "second" {{.+}} {ark.body = @body_square,
// CHECK: ark.task "third" {{.+}} {ark.body = @body_square,
// CHECK: func.func private @body_square(
// CHECK-NOT: func.func
ark.program @equalTasksShareABody(
    %x: memref<32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %0 = memref.view %arena[%c0][] : memref<256xi8> to memref<32xf32>
  %1 = memref.view %arena[%c128][] : memref<256xi8> to memref<32xf32>
  ark.task "first" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
      outs(%0[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) attributes {ops = ["square"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.square ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  } loc("first.py":1:1)
  ark.task "second" grid [2]
      ins(%0[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
      outs(%1[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) attributes {ops = ["square"]} {
  ^bb0(%i: index, %in: memref<16xf32, strided<[1], offset: ?>>, %out: memref<16xf32, strided<[1], offset: ?>>):
    linalg.square ins(%in : memref<16xf32, strided<[1], offset: ?>>) outs(%out : memref<16xf32, strided<[1], offset: ?>>) loc("second.py":2:2)
    ark.yield
  } loc("second.py":2:1)
  ark.task "third" grid [2]
      ins(%1[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) attributes {ops = ["square"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.square ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// More vCTAs of the same tile change the range, and not the body.
// CHECK-LABEL: ark.program @lengthOfAOneDimensionalGridIsData
// CHECK: ark.task "short" {{.+}} {ark.body = @body_zero,
// CHECK: ark.task "long" {{.+}} {ark.body = @body_zero,
// CHECK: func.func private @body_zero(
// CHECK-NOT: func.func
ark.program @lengthOfAOneDimensionalGridIsData(
    %x: memref<8x4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<8x4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "short" grid [1] ins() outs(%x[#ark.region<(d0) -> (d0 * 4, 0), [4, 4]>] : memref<8x4xf32>) attributes {ops = ["zero"]} {
  ^bb0(%i: index, %a: memref<4x4xf32, strided<[4, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%a : memref<4x4xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.task "long" grid [2] ins() outs(%y[#ark.region<(d0) -> (d0 * 4, 0), [4, 4]>] : memref<8x4xf32>) attributes {ops = ["zero"]} {
  ^bb0(%i: index, %a: memref<4x4xf32, strided<[4, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%a : memref<4x4xf32, strided<[4, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Constants, types, the order of operands and regions distinguish bodies.
// CHECK-LABEL: ark.program @differentBodiesStayApart
// CHECK: ark.task "zero" {{.+}} {ark.body = @body_fill,
// CHECK: ark.task "one" {{.+}} {ark.body = @body_fill_0,
// CHECK: ark.task "type" {{.+}} {ark.body = @body_fill_1,
// CHECK: ark.task "region" {{.+}} {ark.body = @body_fill_2,
// CHECK: ark.task "zero again" {{.+}} {ark.body = @body_fill,
// CHECK-COUNT-4: func.func private @body_fill{{(_[0-2])?}}(
// CHECK-NOT: func.func
ark.program @differentBodiesStayApart(
    %x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<32xf16> {ark.kind = #ark.kind<output>, ark.name = "z"},
    %u: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "u"},
    %v: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "v"}) {
  ark.task "zero" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) attributes {ops = ["fill"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>):
    %value = arith.constant 0.0 : f32
    linalg.fill ins(%value : f32) outs(%a : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "one" grid [2] ins() outs(%y[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) attributes {ops = ["fill"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>):
    %value = arith.constant 1.0 : f32
    linalg.fill ins(%value : f32) outs(%a : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "type" grid [2] ins() outs(%z[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf16>) attributes {ops = ["fill"]} {
  ^bb0(%i: index, %a: memref<16xf16, strided<[1], offset: ?>>):
    %value = arith.constant 0.0 : f16
    linalg.fill ins(%value : f16) outs(%a : memref<16xf16, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "region" grid [4] ins() outs(%u[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<32xf32>) attributes {ops = ["fill"]} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>):
    %value = arith.constant 0.0 : f32
    linalg.fill ins(%value : f32) outs(%a : memref<8xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "zero again" grid [2] ins() outs(%v[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) attributes {ops = ["fill"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>):
    %value = arith.constant 0.0 : f32
    linalg.fill ins(%value : f32) outs(%a : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// x - y and y - x consist of the same ops.
// CHECK-LABEL: ark.program @orderOfOperands
// CHECK: ark.task "straight" {{.+}} {ark.body = @body_sub,
// CHECK: ark.task "swapped" {{.+}} {ark.body = @body_sub_0,
ark.program @orderOfOperands(
    %x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "y"},
    %z: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "z"},
    %u: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "u"}) {
  ark.task "straight" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%z[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {ops = ["sub"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>, %c: memref<16xf32, strided<[1], offset: ?>>):
    linalg.sub ins(%a, %b : memref<16xf32, strided<[1], offset: ?>>, memref<16xf32, strided<[1], offset: ?>>) outs(%c : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "swapped" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%u[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {ops = ["sub"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>, %c: memref<16xf32, strided<[1], offset: ?>>):
    linalg.sub ins(%b, %a : memref<16xf32, strided<[1], offset: ?>>, memref<16xf32, strided<[1], offset: ?>>) outs(%c : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A body with stronger assumptions about its operands must not serve a task
// that does not meet them.
// CHECK-LABEL: ark.program @inPlaceHasABodyOfItsOwn
// CHECK: ark.task "apart" {{.+}} {ark.body = @body_square,
// CHECK: ark.task "in place" {{.+}} {ark.body = @body_square_0,
// CHECK: func.func private @body_square({{.+}} {llvm.noalias}
// CHECK: func.func private @body_square_0(
// CHECK-NOT: llvm.noalias
// CHECK-SAME: {{[{]$}}
ark.program @inPlaceHasABodyOfItsOwn(
    %x: memref<16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<16xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "apart" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {ops = ["square"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.square ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "in place" grid [1]
      ins(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>)
      outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {ops = ["square"]} {
  ^bb0(%i: index, %a: memref<16xf32, strided<[1], offset: ?>>, %b: memref<16xf32, strided<[1], offset: ?>>):
    linalg.square ins(%a : memref<16xf32, strided<[1], offset: ?>>) outs(%b : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
