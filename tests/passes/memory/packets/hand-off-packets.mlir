// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-hand-off-packets))' | FileCheck %s

// The only reader is a task of which every vCTA reads the whole tensor: packets
// replace the values.
// CHECK-LABEL: ark.program @wholeRows(
// CHECK: %[[PACKETS:.+]] = ark.packets : memref<256xi8>
// CHECK: %[[X:.+]] = memref.view %[[PACKETS]][%{{.+}}][] : memref<256xi8> to memref<1x64xi32>
// CHECK-NOT: memref.alloc() : memref<1x64xbf16>
// CHECK: ark.task "a"
// CHECK-SAME: outs(%[[X]][#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xi32>)
// CHECK: ^bb0(%{{.+}}: index, %[[IN:.+]]: memref<1x16xf32, {{.+}}>, %[[WORDS:.+]]: memref<1x16xi32, {{.+}}>):
// CHECK: %[[EPOCH:.+]] = ark.epoch : i32
// CHECK: %[[HALF:.+]] = arith.constant 16 : i32
// CHECK: %[[TAG:.+]] = arith.shli %[[EPOCH]], %[[HALF]] : i32
// CHECK: linalg.generic {{.+}} ins(%[[IN]] {{.+}} outs(%[[WORDS]]
// CHECK:   %[[VALUE:.+]] = arith.truncf
// CHECK:   %[[BITS:.+]] = arith.bitcast %[[VALUE]] : bf16 to i16
// CHECK:   %[[LOW:.+]] = arith.extui %[[BITS]] : i16 to i32
// CHECK:   %[[WORD:.+]] = arith.ori %[[LOW]], %[[TAG]] : i32
// CHECK:   linalg.yield %[[WORD]] : i32
// CHECK-NOT: linalg.generic
// CHECK: ark.task "b"
// CHECK-SAME: ins(%[[X]][#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xi32>)
// CHECK: ^bb0(%{{.+}}: index, %[[TILE:.+]]: memref<1x64xi32, {{.+}}>, %{{.+}}: memref<1x16xf32, {{.+}}>):
// CHECK: %[[VALUES:.+]] = memref.alloc() : memref<1x64xbf16>
// CHECK: ark.receive_packets %[[TILE]] to %[[VALUES]] : memref<1x64xi32, {{.+}}> to memref<1x64xbf16>
// CHECK: linalg.generic
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @wholeRows(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A reader with clipped tiles cannot receive packets: it waits for a semaphore and reads the tensor in the arena.
// CHECK-LABEL: ark.program @otherReaders(
// CHECK: %[[X:.+]] = memref.view {{.+}} to memref<1x64xi32>
// CHECK: %[[H:.+]] = memref.alloc() : memref<1x64xbf16>
// CHECK: ark.task "a"
// CHECK-SAME: outs(%[[H]][#[[REGION:.+]]] : memref<1x64xbf16>, %[[X]][#[[REGION]]] : memref<1x64xi32>)
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : memref<1x16xi32,
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : memref<1x16xbf16,
// CHECK: ark.task "b"
// CHECK: ark.receive_packets
// CHECK: ark.task "c"
// CHECK-SAME: ins(%[[H]]
// CHECK-NOT: ark.receive_packets
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @otherReaders(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.task "c" grid [2]
      ins(%h[#ark.region<(d0) -> (0, d0 * 48), [1, 48]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 48), [1, 48]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x?xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x?xf32, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x?xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x?xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Packets have the extents of the clipped tiles. The copy in the body sends the copied values as packets.
// CHECK-LABEL: ark.program @raggedCopies(
// CHECK: ark.packets : memref<256xi8>
// CHECK: ark.task "a"
// CHECK: ^bb0(%{{.+}}: index, %{{.+}}: memref<1x?xbf16, {{.+}}>, %[[WORDS:.+]]: memref<1x?xi32, {{.+}}>):
// CHECK: memref.dim %[[WORDS]], %{{.+}} : memref<1x?xi32,
// CHECK: linalg.generic {{.+}} outs(%[[WORDS]] : memref<1x?xi32,
// CHECK-NOT: linalg.copy
// CHECK: ark.task "b"
// CHECK: ark.receive_packets
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @raggedCopies(
    %x: memref<1x60xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x60xbf16> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x60xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x60xbf16>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x60xbf16>) {
  ^bb0(%i: index, %a: memref<1x?xbf16, strided<[60, 1], offset: ?>>, %b: memref<1x?xbf16, strided<[60, 1], offset: ?>>):
    %c1 = arith.constant 1 : index
    %n = memref.dim %b, %c1 : memref<1x?xbf16, strided<[60, 1], offset: ?>>
    %p = memref.subview %a[0, 0] [1, %n] [1, 1] : memref<1x?xbf16, strided<[60, 1], offset: ?>> to memref<1x?xbf16, strided<[60, 1], offset: ?>>
    linalg.copy ins(%p : memref<1x?xbf16, strided<[60, 1], offset: ?>>) outs(%b : memref<1x?xbf16, strided<[60, 1], offset: ?>>)
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 60]>] : memref<1x60xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 15), [1, 15]>] : memref<1x60xbf16>) {
  ^bb0(%i: index, %a: memref<1x60xbf16, strided<[60, 1], offset: ?>>, %b: memref<1x15xbf16, strided<[60, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 15] [1, 1] : memref<1x60xbf16, strided<[60, 1], offset: ?>> to memref<1x15xbf16, strided<[60, 1], offset: ?>>
    linalg.copy ins(%p : memref<1x15xbf16, strided<[60, 1], offset: ?>>) outs(%b : memref<1x15xbf16, strided<[60, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// As in attention, the writer uses the shape of heads and writes through views of its tile, and readers
// use the shape of rows. All views refer to the same packets.
// CHECK-LABEL: ark.program @viewsOfTiles(
// CHECK: %[[X:.+]] = memref.view {{.+}} to memref<1x4x16xi32>
// CHECK: ark.task "a"
// CHECK-SAME: outs(%[[X]][{{.+}}] : memref<1x4x16xi32>)
// CHECK: ^bb0(%{{.+}}: index, %{{.+}}: memref<1x16xf32, {{.+}}>, %[[WORDS:.+]]: memref<1x1x16xi32, {{.+}}>):
// CHECK: %[[HEAD:.+]] = memref.subview %[[WORDS]][0, 0, 0] [1, 1, 16] [1, 1, 1] : memref<1x1x16xi32, {{.+}}> to memref<1x16xi32,
// CHECK: linalg.generic {{.+}} outs(%[[HEAD]]
// CHECK: ark.task "b"
// CHECK-SAME: ins(%[[ROWS:.+]][#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xi32>)
// CHECK: ark.receive_packets %{{.+}} to %{{.+}} : memref<1x64xi32, {{.+}}> to memref<1x64xbf16>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @viewsOfTiles(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %heads = memref.alloc() : memref<1x4x16xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%heads[#ark.region<(d0) -> (0, d0, 0), [1, 1, 16]>] : memref<1x4x16xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x1x16xbf16, strided<[64, 16, 1], offset: ?>>):
    %head = memref.subview %b[0, 0, 0] [1, 1, 16] [1, 1, 1] : memref<1x1x16xbf16, strided<[64, 16, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%head : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  %h = memref.collapse_shape %heads [[0], [1, 2]] : memref<1x4x16xbf16> into memref<1x64xbf16>
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Readers of a part receive only this part.
// CHECK-LABEL: ark.program @readersOfParts(
// CHECK: ark.task "b"
// CHECK-SAME: ins(%{{.+}}[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xi32>)
// CHECK: ^bb0(%{{.+}}: index, %[[TILE:.+]]: memref<1x16xi32, strided<[64, 1], offset: ?>>,
// CHECK: %[[ALL:.+]] = memref.alloc() : memref<16xbf16>
// CHECK: %[[VALUES:.+]] = memref.reinterpret_cast %[[ALL]] to offset: [0], sizes: [1, 16], strides: [64, 1]
// CHECK: ark.receive_packets %[[TILE]] to %[[VALUES]] : memref<1x16xi32, {{.+}}> to memref<1x16xbf16, strided<[64, 1]>>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @readersOfParts(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) {
  ^bb0(%i: index, %a: memref<1x16xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A task reads halves of rows, as in a rotation: the packets are apart, the values are dense.
// CHECK-LABEL: ark.program @halvesOfRows(
// CHECK: ark.task "b"
// CHECK: %[[VALUES:.+]] = memref.alloc() : memref<2x8xbf16>
// CHECK: ark.receive_packets {{.+}} to %[[VALUES]] : memref<2x8xi32, strided<[16, 1], offset: ?>> to memref<2x8xbf16>
// CHECK: linalg.generic {{.*}} ins(%[[VALUES]] : memref<2x8xbf16>)
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @halvesOfRows(
    %x: memref<4x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x16xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16]>] : memref<4x16xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 16]>] : memref<4x16xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[16, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[16, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[16, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (d0 * 2, 8), [2, 8]>] : memref<4x16xbf16>)
      outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 8]>] : memref<4x8xf32>) {
  ^bb0(%i: index, %a: memref<2x8xbf16, strided<[16, 1], offset: ?>>, %b: memref<2x8xf32, strided<[8, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<2x8xbf16, strided<[16, 1], offset: ?>>) outs(%b : memref<2x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Rows of f32 that are far apart: the temporary has the size of the values, and views of the tile become views of it.
// CHECK-LABEL: ark.program @viewsOfRowsFarApart(
// CHECK: ark.task "b"
// CHECK: %[[VALUES:.+]] = memref.alloc() : memref<2x1x8xf32>
// CHECK: ark.receive_packets {{.+}} to %[[VALUES]] : memref<2x1x8xi64, strided<[4096, 4096, 1], offset: ?>> to memref<2x1x8xf32>
// CHECK: %[[FLAT:.+]] = memref.collapse_shape %[[VALUES]] {{\[\[}}0, 1], [2]] : memref<2x1x8xf32> into memref<2x8xf32>
// CHECK: %[[PART:.+]] = memref.subview %[[FLAT]][0, 4] [2, 4] [1, 1] : memref<2x8xf32> to memref<2x4xf32, strided<[8, 1], offset: 4>>
// CHECK: linalg.generic {{.*}} ins(%[[PART]] : memref<2x4xf32, strided<[8, 1], offset: 4>>)
#id = affine_map<(d0, d1) -> (d0, d1)>
#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @viewsOfRowsFarApart(
    %x: memref<2x1x4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<2x2048xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<2x1x4096xf32>
  ark.task "a" grid [2]
      ins(%x[#ark.region<(d0) -> (d0, 0, 0), [1, 1, 4096]>] : memref<2x1x4096xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0, 0), [1, 1, 4096]>] : memref<2x1x4096xf32>) {
  ^bb0(%i: index, %a: memref<1x1x4096xf32, strided<[4096, 4096, 1], offset: ?>>, %b: memref<1x1x4096xf32, strided<[4096, 4096, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id3, #id3], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%a : memref<1x1x4096xf32, strided<[4096, 4096, 1], offset: ?>>) outs(%b : memref<1x1x4096xf32, strided<[4096, 4096, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.task "b" grid [512]
      ins(%h[#ark.region<(d0) -> (0, 0, d0 * 8), [2, 1, 8]>] : memref<2x1x4096xf32>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 4), [2, 4]>] : memref<2x2048xf32>) {
  ^bb0(%i: index, %a: memref<2x1x8xf32, strided<[4096, 4096, 1], offset: ?>>, %b: memref<2x4xf32, strided<[2048, 1], offset: ?>>):
    %flat = memref.collapse_shape %a [[0, 1], [2]] : memref<2x1x8xf32, strided<[4096, 4096, 1], offset: ?>> into memref<2x8xf32, strided<[4096, 1], offset: ?>>
    %part = memref.subview %flat[0, 4] [2, 4] [1, 1] : memref<2x8xf32, strided<[4096, 1], offset: ?>> to memref<2x4xf32, strided<[4096, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%part : memref<2x4xf32, strided<[4096, 1], offset: ?>>) outs(%b : memref<2x4xf32, strided<[2048, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// As in a split attention, several ops compute parts of a row of f32, and a single vCTA reads the row through
// several operands. Threads could not receive one of these operands without the others. Packets have 64 bits; all of
// them are received as one operand.
// CHECK-LABEL: ark.program @partsOfRows(
// CHECK: ark.packets : memref<320xi8>
// CHECK: %[[X:.+]] = memref.view {{.+}} to memref<4x10xi64>
// CHECK: ark.task "a"
// CHECK: %[[EPOCH:.+]] = ark.epoch : i32
// CHECK: %[[WIDE:.+]] = arith.extui %[[EPOCH]] : i32 to i64
// CHECK: %[[BITS:.+]] = arith.constant 48 : i64
// CHECK: %[[TAG:.+]] = arith.shli %[[WIDE]], %[[BITS]] : i64
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : memref<1x8xi64,
// CHECK:   %[[VALUE:.+]] = arith.bitcast %{{.+}} : f32 to i32
// CHECK:   %[[LOW:.+]] = arith.extui %[[VALUE]] : i32 to i64
// CHECK:   arith.ori %[[LOW]], %[[TAG]] : i64
// CHECK: linalg.generic {{.+}} outs(%{{.+}} : memref<1x2xi64,
// CHECK-NOT: f32, strided<[10, 1], offset: ?>>) {
// CHECK: ark.task "b"
// CHECK-SAME: ins(%[[X]][#ark.region<(d0) -> (d0 * 2, 0), [2, 10]>] : memref<4x10xi64>) outs(
// CHECK: ^bb0(%{{.+}}: index, %[[TILE:.+]]: memref<2x10xi64, {{.+}}>, %{{.+}}: memref<2x8xf32, {{.+}}>):
// CHECK: %[[VALUES:.+]] = memref.alloc() : memref<2x10xf32>
// CHECK-DAG: memref.subview %[[VALUES]][0, 0] [2, 8] [1, 1]
// CHECK-DAG: memref.subview %[[VALUES]][0, 9] [2, 1] [1, 1]
// CHECK: ark.receive_packets %[[TILE]] to %[[VALUES]] : memref<2x10xi64, {{.+}}> to memref<2x10xf32>
// CHECK: linalg.generic
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @partsOfRows(
    %x: memref<4x10xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x10xf32>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 10]>] : memref<4x10xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 10]>] : memref<4x10xf32>) {
  ^bb0(%i: index, %a: memref<1x10xf32, strided<[10, 1], offset: ?>>, %b: memref<1x10xf32, strided<[10, 1], offset: ?>>):
    %a0 = memref.subview %a[0, 0] [1, 8] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x8xf32, strided<[10, 1], offset: ?>>
    %b0 = memref.subview %b[0, 0] [1, 8] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x8xf32, strided<[10, 1], offset: ?>>
    linalg.copy ins(%a0 : memref<1x8xf32, strided<[10, 1], offset: ?>>) outs(%b0 : memref<1x8xf32, strided<[10, 1], offset: ?>>)
    %a1 = memref.subview %a[0, 8] [1, 2] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x2xf32, strided<[10, 1], offset: ?>>
    %b1 = memref.subview %b[0, 8] [1, 2] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x2xf32, strided<[10, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a1 : memref<1x2xf32, strided<[10, 1], offset: ?>>) outs(%b1 : memref<1x2xf32, strided<[10, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (d0 * 2, 0), [2, 8]>] : memref<4x10xf32>,
          %h[#ark.region<(d0) -> (d0 * 2, 9), [2, 1]>] : memref<4x10xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 8]>] : memref<4x8xf32>) {
  ^bb0(%i: index, %a: memref<2x8xf32, strided<[10, 1], offset: ?>>, %c: memref<2x1xf32, strided<[10, 1], offset: ?>>, %b: memref<2x8xf32, strided<[8, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0, 0)>, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %c : memref<2x8xf32, strided<[10, 1], offset: ?>>, memref<2x1xf32, strided<[10, 1], offset: ?>>) outs(%b : memref<2x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%in: f32, %w: f32, %out: f32):
      %v = arith.mulf %in, %w : f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Both tasks belong to one rank.
// CHECK-LABEL: ark.program @oneRankOfTwo(
// CHECK: %[[PACKETS:.+]] = ark.packets
// CHECK: ark.task "a"
// CHECK-SAME: memref<1x64xi32>
// CHECK: ark.receive_packets
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @oneRankOfTwo(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) attributes {world_size = 2 : i64} {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// The receiver has another rank. The words lie in its part of the packets, which begins at 2 MiB.
// CHECK-LABEL: ark.program @twoRanks(
// CHECK: %[[PACKETS:.+]] = ark.packets : memref<4194304xi8>
// CHECK: %[[OFFSET:.+]] = arith.constant 2097152 : index
// CHECK: memref.view %[[PACKETS]][%[[OFFSET]]][] : memref<4194304xi8> to memref<1x64xi32>
// CHECK: ark.task "a"
// CHECK-SAME: memref<1x64xi32>
// CHECK: ark.task "b"
// CHECK: ark.receive_packets
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @twoRanks(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) attributes {world_size = 2 : i64} {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    ark.yield
  }
  ark.task "b" grid [4]
      ins(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %a: memref<1x64xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xf32, strided<[64, 1], offset: ?>>):
    %p = memref.subview %a[0, 0] [1, 16] [1, 1] : memref<1x64xbf16, strided<[64, 1], offset: ?>> to memref<1x16xbf16, strided<[64, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%p : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: bf16, %out: f32):
      %v = arith.extf %in : bf16 to f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// Two ops write one element: a reader could not tell their packets apart.
// CHECK-LABEL: ark.program @partsThatOverlap(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @partsThatOverlap(
    %x: memref<4x10xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x8xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x10xf32>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 10]>] : memref<4x10xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 10]>] : memref<4x10xf32>) {
  ^bb0(%i: index, %a: memref<1x10xf32, strided<[10, 1], offset: ?>>, %b: memref<1x10xf32, strided<[10, 1], offset: ?>>):
    %a0 = memref.subview %a[0, 0] [1, 9] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x9xf32, strided<[10, 1], offset: ?>>
    %b0 = memref.subview %b[0, 0] [1, 9] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x9xf32, strided<[10, 1], offset: ?>>
    linalg.copy ins(%a0 : memref<1x9xf32, strided<[10, 1], offset: ?>>) outs(%b0 : memref<1x9xf32, strided<[10, 1], offset: ?>>)
    %a1 = memref.subview %a[0, 8] [1, 2] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x2xf32, strided<[10, 1], offset: ?>>
    %b1 = memref.subview %b[0, 8] [1, 2] [1, 1] : memref<1x10xf32, strided<[10, 1], offset: ?>> to memref<1x2xf32, strided<[10, 1], offset: ?>>
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a1 : memref<1x2xf32, strided<[10, 1], offset: ?>>) outs(%b1 : memref<1x2xf32, strided<[10, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    }
    ark.yield
  }
  ark.task "b" grid [2]
      ins(%h[#ark.region<(d0) -> (d0 * 2, 0), [2, 8]>] : memref<4x10xf32>,
          %h[#ark.region<(d0) -> (d0 * 2, 9), [2, 1]>] : memref<4x10xf32>)
      outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 8]>] : memref<4x8xf32>) {
  ^bb0(%i: index, %a: memref<2x8xf32, strided<[10, 1], offset: ?>>, %c: memref<2x1xf32, strided<[10, 1], offset: ?>>, %b: memref<2x8xf32, strided<[8, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d0, 0)>, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %c : memref<2x8xf32, strided<[10, 1], offset: ?>>, memref<2x1xf32, strided<[10, 1], offset: ?>>) outs(%b : memref<2x8xf32, strided<[8, 1], offset: ?>>) {
    ^bb0(%in: f32, %w: f32, %out: f32):
      %v = arith.mulf %in, %w : f32
      linalg.yield %v : f32
    }
    ark.yield
  }
  ark.return
}
}

// -----

// A reader that views the values as another type would have to know which bits are the epoch.
// CHECK-LABEL: ark.program @otherTypes(
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @otherTypes(
    %x: memref<4x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<4x16xi32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<4x16xf32>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (d0, 0), [1, 16]>] : memref<4x16xf32>)
      outs(%h[#ark.region<(d0) -> (d0, 0), [1, 16]>] : memref<4x16xf32>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[16, 1], offset: ?>>, %b: memref<1x16xf32, strided<[16, 1], offset: ?>>):
    linalg.copy ins(%a : memref<1x16xf32, strided<[16, 1], offset: ?>>) outs(%b : memref<1x16xf32, strided<[16, 1], offset: ?>>)
    ark.yield
  }
  %bits = ark.buffer_cast %h : memref<4x16xf32> to memref<4x16xi32>
  ark.task "b" grid [2]
      ins(%bits[#ark.region<(d0) -> (d0 * 2, 0), [2, 16]>] : memref<4x16xi32>)
      outs(%y[#ark.region<(d0) -> (d0 * 2, 0), [2, 16]>] : memref<4x16xi32>) {
  ^bb0(%i: index, %a: memref<2x16xi32, strided<[16, 1], offset: ?>>, %b: memref<2x16xi32, strided<[16, 1], offset: ?>>):
    linalg.copy ins(%a : memref<2x16xi32, strided<[16, 1], offset: ?>>) outs(%b : memref<2x16xi32, strided<[16, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// A copy from one result to another is replaced by a second computation of the values, so that both
// results become packets: "c" reads one of them, and "d" the other.
// CHECK-LABEL: ark.program @copied(
// CHECK: ark.task "a"
// CHECK: ^bb0(%{{.+}}: index, %[[IN:.+]]: memref<1x16xf32, {{.+}}>, %[[FIRST:.+]]: memref<1x16xi32, {{.+}}>, %[[SECOND:.+]]: memref<1x16xi32, {{.+}}>):
// CHECK: linalg.generic {{.+}} ins(%[[IN]] {{.+}} outs(%[[FIRST]]
// CHECK:   arith.truncf
// CHECK: linalg.generic {{.+}} ins(%[[IN]] {{.+}} outs(%[[SECOND]]
// CHECK:   arith.truncf
// CHECK-NOT: linalg.copy
// CHECK: ark.task "c"
// CHECK: ark.receive_packets
// CHECK: ark.task "d"
// CHECK: ark.receive_packets
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @copied(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xbf16> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<1x64xbf16> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  %g = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [4]
      ins(%x[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>,
           %g[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xf32, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>, %c: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a : memref<1x16xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) {
    ^bb0(%in: f32, %out: bf16):
      %v = arith.truncf %in : f32 to bf16
      linalg.yield %v : bf16
    }
    linalg.copy ins(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%c : memref<1x16xbf16, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.task "c" grid [4]
      ins(%h[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>)
      outs(%y[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.copy ins(%a : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.task "d" grid [4]
      ins(%g[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>)
      outs(%z[#ark.region<(d0) -> (0, d0 * 16), [1, 16]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x16xbf16, strided<[64, 1], offset: ?>>, %b: memref<1x16xbf16, strided<[64, 1], offset: ?>>):
    linalg.copy ins(%a : memref<1x16xbf16, strided<[64, 1], offset: ?>>) outs(%b : memref<1x16xbf16, strided<[64, 1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}
