// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-plan-arena,ark-verify-memory))' | FileCheck %s
// A second run of the pass changes nothing.
// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-plan-arena,ark-plan-arena))' | FileCheck %s

// In a chain, every second buffer has the same bytes. Offsets are multiples of 64.
// CHECK-LABEL: ark.program @chain
// CHECK-SAME:  attributes {ark.largest_live_set = 88 : i64}
// CHECK:       %[[ARENA:.+]] = ark.arena : memref<128xi8>
// CHECK-DAG:   %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:   %[[C64:.+]] = arith.constant 64 : index
// CHECK:       %[[A:.+]] = memref.view %[[ARENA]][%[[C0]]][] : memref<128xi8> to memref<10xf32>
// CHECK-NEXT:  %[[B:.+]] = memref.view %[[ARENA]][%[[C64]]][] : memref<128xi8> to memref<12xf32>
// CHECK-NEXT:  %[[C:.+]] = memref.view %[[ARENA]][%[[C0]]][] : memref<128xi8> to memref<10xf32>
// CHECK:       ark.task "a" {{.+}} outs(%[[A]][
// CHECK:       ark.task "b" {{.+}} ins(%[[A]][{{.+}} outs(%[[B]][
// CHECK:       ark.task "c" {{.+}} ins(%[[B]][{{.+}} outs(%[[C]][
ark.program @chain(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = memref.alloc() : memref<10xf32>
  %1 = memref.alloc() : memref<12xf32>
  %2 = memref.alloc() : memref<10xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%0[#ark.region<(d0) -> (0), [10]>] : memref<10xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<10xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<10xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [10]>] : memref<10xf32>) outs(%1[#ark.region<(d0) -> (0), [12]>] : memref<12xf32>) {
  ^bb0(%i: index, %t0: memref<10xf32, strided<[1], offset: ?>>, %t1: memref<12xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<12xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%1[#ark.region<(d0) -> (0), [12]>] : memref<12xf32>) outs(%2[#ark.region<(d0) -> (0), [10]>] : memref<10xf32>) {
  ^bb0(%i: index, %t0: memref<12xf32, strided<[1], offset: ?>>, %t1: memref<10xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<10xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%2[#ark.region<(d0) -> (0), [10]>] : memref<10xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<10xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Two branches may run concurrently, so they share no bytes.
// CHECK-LABEL: ark.program @branches
// CHECK-SAME:  attributes {ark.largest_live_set = 192 : i64}
// CHECK:       ark.arena : memref<256xi8>
ark.program @branches(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = memref.alloc() : memref<16xf32>
  %1 = memref.alloc() : memref<16xf32>
  %2 = memref.alloc() : memref<16xf32>
  %3 = memref.alloc() : memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%0[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
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
  ark.task "c" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%2[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%2[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%3[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "e" grid [1] ins(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %3[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>, %t2: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// A small buffer fills the gap that a large one leaves.
// CHECK-LABEL: ark.program @gaps
// CHECK-SAME:  attributes {ark.largest_live_set = 512 : i64}
// CHECK:       ark.arena : memref<512xi8>
ark.program @gaps(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %0 = memref.alloc() : memref<64xf32>
  %1 = memref.alloc() : memref<64xf32>
  %2 = memref.alloc() : memref<16xf32>
  %3 = memref.alloc() : memref<48xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%0[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%0[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%1[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<64xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [1] ins(%1[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%2[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) {
  ^bb0(%i: index, %t0: memref<64xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [1] ins(%2[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>, %1[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>) outs(%3[#ark.region<(d0) -> (0), [48]>] : memref<48xf32>) {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<48xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<48xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "e" grid [1] ins(%3[#ark.region<(d0) -> (0), [48]>] : memref<48xf32>, %1[#ark.region<(d0) -> (0), [64]>] : memref<64xf32>, %2[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<48xf32, strided<[1], offset: ?>>, %t1: memref<64xf32, strided<[1], offset: ?>>, %t2: memref<16xf32, strided<[1], offset: ?>>, %t3: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t3 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// CHECK-LABEL: ark.program @nothingToPlan
// CHECK-NOT:   ark.arena
// CHECK-NOT:   ark.largest_live_set
ark.program @nothingToPlan(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Layers reuse the bytes of other layers: the arena of three layers is as large
// as the live set of one.
// CHECK-LABEL: ark.program @transformer
// CHECK-SAME:  attributes {ark.largest_live_set = [[#LIVE:]] : i64}
// CHECK:       ark.arena : memref<[[#LIVE]]xi8>
ark.program @transformer(%x: memref<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<64x32xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %n1_0 = memref.alloc() : memref<64x32xf32>
  ark.task "norm1_0" grid [2] ins(%x[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%n1_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %q_0 = memref.alloc() : memref<64x32xf32>
  ark.task "q_0" grid [2] ins(%n1_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%q_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %k_0 = memref.alloc() : memref<64x32xf32>
  ark.task "k_0" grid [2] ins(%n1_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%k_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %v_0 = memref.alloc() : memref<64x32xf32>
  ark.task "v_0" grid [2] ins(%n1_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%v_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %a_0 = memref.alloc() : memref<64x32xf32>
  ark.task "attention_0" grid [2] ins(%q_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %k_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %v_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%a_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t3: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t3 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %r_0 = memref.alloc() : memref<64x32xf32>
  ark.task "project_0" grid [2] ins(%a_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %x[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%r_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %n2_0 = memref.alloc() : memref<64x32xf32>
  ark.task "norm2_0" grid [2] ins(%r_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%n2_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %h_0 = memref.alloc() : memref<64x128xf32>
  ark.task "up_0" grid [2] ins(%n2_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%h_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 128]>] : memref<64x128xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x128xf32, strided<[128, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x128xf32, strided<[128, 1], offset: ?>>)
    ark.yield
  }
  %o_0 = memref.alloc() : memref<64x32xf32>
  ark.task "down_0" grid [2] ins(%h_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 128]>] : memref<64x128xf32>, %r_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%o_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x128xf32, strided<[128, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %n1_1 = memref.alloc() : memref<64x32xf32>
  ark.task "norm1_1" grid [2] ins(%o_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%n1_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %q_1 = memref.alloc() : memref<64x32xf32>
  ark.task "q_1" grid [2] ins(%n1_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%q_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %k_1 = memref.alloc() : memref<64x32xf32>
  ark.task "k_1" grid [2] ins(%n1_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%k_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %v_1 = memref.alloc() : memref<64x32xf32>
  ark.task "v_1" grid [2] ins(%n1_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%v_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %a_1 = memref.alloc() : memref<64x32xf32>
  ark.task "attention_1" grid [2] ins(%q_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %k_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %v_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%a_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t3: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t3 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %r_1 = memref.alloc() : memref<64x32xf32>
  ark.task "project_1" grid [2] ins(%a_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %o_0[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%r_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %n2_1 = memref.alloc() : memref<64x32xf32>
  ark.task "norm2_1" grid [2] ins(%r_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%n2_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %h_1 = memref.alloc() : memref<64x128xf32>
  ark.task "up_1" grid [2] ins(%n2_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%h_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 128]>] : memref<64x128xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x128xf32, strided<[128, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x128xf32, strided<[128, 1], offset: ?>>)
    ark.yield
  }
  %o_1 = memref.alloc() : memref<64x32xf32>
  ark.task "down_1" grid [2] ins(%h_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 128]>] : memref<64x128xf32>, %r_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%o_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x128xf32, strided<[128, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %n1_2 = memref.alloc() : memref<64x32xf32>
  ark.task "norm1_2" grid [2] ins(%o_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%n1_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %q_2 = memref.alloc() : memref<64x32xf32>
  ark.task "q_2" grid [2] ins(%n1_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%q_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %k_2 = memref.alloc() : memref<64x32xf32>
  ark.task "k_2" grid [2] ins(%n1_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%k_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %v_2 = memref.alloc() : memref<64x32xf32>
  ark.task "v_2" grid [2] ins(%n1_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%v_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %a_2 = memref.alloc() : memref<64x32xf32>
  ark.task "attention_2" grid [2] ins(%q_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %k_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %v_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%a_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t3: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t3 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %r_2 = memref.alloc() : memref<64x32xf32>
  ark.task "project_2" grid [2] ins(%a_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>, %o_1[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%r_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %n2_2 = memref.alloc() : memref<64x32xf32>
  ark.task "norm2_2" grid [2] ins(%r_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%n2_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  %h_2 = memref.alloc() : memref<64x128xf32>
  ark.task "up_2" grid [2] ins(%n2_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%h_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 128]>] : memref<64x128xf32>) {
  ^bb0(%i: index, %t0: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t1: memref<32x128xf32, strided<[128, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32x128xf32, strided<[128, 1], offset: ?>>)
    ark.yield
  }
  ark.task "down_2" grid [2] ins(%h_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 128]>] : memref<64x128xf32>, %r_2[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 32, 0), [32, 32]>] : memref<64x32xf32>) {
  ^bb0(%i: index, %t0: memref<32x128xf32, strided<[128, 1], offset: ?>>, %t1: memref<32x32xf32, strided<[32, 1], offset: ?>>, %t2: memref<32x32xf32, strided<[32, 1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t2 : memref<32x32xf32, strided<[32, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}

// -----

// Both ranks have parts of equal size. A value that rank 0 writes and rank 1 reads lies in the part of
// rank 1, and shares no bytes with other values of that part.
// CHECK-LABEL: ark.program @ranks
// CHECK:       %[[ARENA:.+]] = ark.arena : memref<256xi8>
// CHECK-DAG:   %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:   %[[C128:.+]] = arith.constant 128 : index
// CHECK:       memref.view %[[ARENA]][%[[C0]]][] : memref<256xi8> to memref<32xf32>
// CHECK-NEXT:  memref.view %[[ARENA]][%[[C128]]][] : memref<256xi8> to memref<16xf32>
ark.program @ranks(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"}, %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"}) attributes {world_size = 2 : i64} {
  %0 = memref.alloc() : memref<32xf32>
  %1 = memref.alloc() : memref<16xf32>
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs(%0[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %t0: memref<4xf32, strided<[1], offset: ?>>, %t1: memref<32xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<32xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "put" grid [1] ins(%0[#ark.region<(d0) -> (0), [32]>] : memref<32xf32>) outs(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %t0: memref<32xf32, strided<[1], offset: ?>>, %t1: memref<16xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<16xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [1] ins(%1[#ark.region<(d0) -> (0), [16]>] : memref<16xf32>) outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %t0: memref<16xf32, strided<[1], offset: ?>>, %t1: memref<4xf32, strided<[1], offset: ?>>):
    %zero = arith.constant 0.0 : f32
    linalg.fill ins(%zero : f32) outs(%t1 : memref<4xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
