// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-verify-memory))' | FileCheck %s

// Memory knows signs of integers and arithmetic does not.
// CHECK-LABEL: ark.program @changesOfSign
// CHECK: builtin.unrealized_conversion_cast %{{.+}} : ui8 to i8
// CHECK: builtin.unrealized_conversion_cast %{{.+}} : i8 to ui8
ark.program @changesOfSign(%x: memref<16xui8> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xui8> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) {
  ^bb0(%i: index, %t0: memref<16xui8, strided<[1], offset: ?>>, %t1: memref<16xui8, strided<[1], offset: ?>>):
    %0 = memref.load %t0[%i] : memref<16xui8, strided<[1], offset: ?>>
    %1 = builtin.unrealized_conversion_cast %0 : ui8 to i8
    %2 = arith.addi %1, %1 : i8
    %3 = builtin.unrealized_conversion_cast %2 : i8 to ui8
    memref.store %3, %t1[%i] : memref<16xui8, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}
