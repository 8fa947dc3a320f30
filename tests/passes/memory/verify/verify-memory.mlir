// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-verify-memory))' | FileCheck %s

// Types in memory have signs; arith has signless integers.
// CHECK-LABEL: ark.program @changesOfSign
// CHECK: builtin.unrealized_conversion_cast %{{.+}} : ui8 to i8
// CHECK: builtin.unrealized_conversion_cast %{{.+}} : i8 to ui8
ark.program @changesOfSign(%x: memref<16xui8> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<16xui8> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xui8>) {
  ^bb0(%i: index, %t0: memref<16xui8, strided<[1], offset: ?>>, %t1: memref<16xui8, strided<[1], offset: ?>>):
    %zeros = arith.constant 0 : i8
    %zero = builtin.unrealized_conversion_cast %zeros : i8 to ui8
    linalg.fill ins(%zero : ui8) outs(%t1 : memref<16xui8, strided<[1], offset: ?>>)
    %0 = memref.load %t0[%i] : memref<16xui8, strided<[1], offset: ?>>
    %1 = builtin.unrealized_conversion_cast %0 : ui8 to i8
    %2 = arith.addi %1, %1 : i8
    %3 = builtin.unrealized_conversion_cast %2 : i8 to ui8
    memref.store %3, %t1[%i] : memref<16xui8, strided<[1], offset: ?>>
    ark.yield
  }
  ark.return
}

// -----

// The packet buffer is beside the arena; bodies send and receive packets.
// CHECK-LABEL: ark.program @packets
// CHECK: ark.epoch : i32
// CHECK: ark.receive_packets
ark.program @packets(%y: memref<16xbf16> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %packets = ark.packets : memref<64xi8>
  %c0 = arith.constant 0 : index
  %p = memref.view %packets[%c0][] : memref<64xi8> to memref<16xi32>
  ark.task "a" grid [1] ins() outs(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) {
  ^bb0(%i: index, %t0: memref<16xi32, strided<[1], offset: ?>>):
    %e = ark.epoch : i32
    linalg.fill ins(%e : i32) outs(%t0 : memref<16xi32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%p[#ark.region<(d0) -> (0), [16]>] : memref<16xi32>) outs(%y[#ark.region<(d0) -> (0), [16]>] : memref<16xbf16>) attributes {shared_memory = 64 : i64} {
  ^bb0(%i: index, %t0: memref<16xi32, strided<[1], offset: ?>>, %t1: memref<16xbf16, strided<[1], offset: ?>>):
    %values = memref.alloca() {alignment = 64 : i64} : memref<16xbf16>
    ark.receive_packets %t0 to %values : memref<16xi32, strided<[1], offset: ?>> to memref<16xbf16>
    linalg.copy ins(%values : memref<16xbf16>) outs(%t1 : memref<16xbf16, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
