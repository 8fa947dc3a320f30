// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-hand-off-packets))' | FileCheck %s

// The epilogue of the norm yields packets.
// CHECK-LABEL: ark.program @normSendsPackets(
// CHECK: ark.task "a"
// CHECK: ^bb0(%{{.+}}: index, %[[X:.+]]: memref<1x64xf32, {{.+}}>, %[[WORDS:.+]]: memref<1x64xi32, {{.+}}>):
// CHECK: %[[EPOCH:.+]] = ark.epoch : i32
// CHECK: %[[TAG:.+]] = arith.shli %[[EPOCH]],
// CHECK: ark.row_norm ins(%[[X]] : {{.+}} outs(%[[WORDS]] : memref<1x64xi32,
// CHECK: epilogue {
// CHECK: %[[VALUE:.+]] = arith.truncf
// CHECK-NEXT: %[[BITS:.+]] = arith.bitcast %[[VALUE]] : bf16 to i16
// CHECK-NEXT: %[[LOW:.+]] = arith.extui %[[BITS]] : i16 to i32
// CHECK-NEXT: %[[WORD:.+]] = arith.ori %[[LOW]], %[[TAG]] : i32
// CHECK-NEXT: ark.yield %[[WORD]] : i32
// CHECK-NOT: ark.row_norm
// CHECK: ark.task "b"
// CHECK: ark.receive_packets
#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @normSendsPackets(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x64xf32, strided<[64, 1], offset: ?>>, %b: memref<1x64xbf16, strided<[64, 1], offset: ?>>):
    %s = memref.alloc() : memref<1xf32>
    ark.row_norm ins(%a : memref<1x64xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x64xbf16, strided<[64, 1], offset: ?>>)
        scale(%s : memref<1xf32>) eps = 1.0e-5 maps [#id, #id, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      %narrow = arith.truncf %normalised : f32 to bf16
      ark.yield %narrow : bf16
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

// Task c cannot receive a clipped tile, so that the norm also stores its result. The packets are copies: the rows are
// not reduced twice.
// CHECK-LABEL: ark.program @storedNormIsCopied(
// CHECK: ark.task "a"
// CHECK: ^bb0(%{{.+}}: index, %[[X:.+]]: memref<1x64xf32, {{.+}}>, %[[Y:.+]]: memref<1x64xbf16, {{.+}}>, %[[WORDS:.+]]: memref<1x64xi32, {{.+}}>):
// CHECK: ark.row_norm ins(%[[X]] : {{.+}} outs(%[[Y]] : memref<1x64xbf16,
// CHECK: linalg.generic {{.+}} ins(%[[Y]] : {{.+}} outs(%[[WORDS]] :
// CHECK-NEXT: ^bb0(%[[VALUE:.+]]: bf16, %{{.+}}: i32):
// CHECK-NEXT: arith.bitcast %[[VALUE]] : bf16 to i16
// CHECK-NOT: ark.row_norm
// CHECK: ark.task "b"
#id = affine_map<(d0, d1) -> (d0, d1)>
#rows = affine_map<(d0, d1) -> (d0)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 4,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
ark.program @storedNormIsCopied(
    %x: memref<1x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"},
    %z: memref<1x64xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  %h = memref.alloc() : memref<1x64xbf16>
  ark.task "a" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xf32>)
      outs(%h[#ark.region<(d0) -> (0, 0), [1, 64]>] : memref<1x64xbf16>) {
  ^bb0(%i: index, %a: memref<1x64xf32, strided<[64, 1], offset: ?>>, %b: memref<1x64xbf16, strided<[64, 1], offset: ?>>):
    %s = memref.alloc() : memref<1xf32>
    ark.row_norm ins(%a : memref<1x64xf32, strided<[64, 1], offset: ?>>) outs(%b : memref<1x64xbf16, strided<[64, 1], offset: ?>>)
        scale(%s : memref<1xf32>) eps = 1.0e-5 maps [#id, #id, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      %narrow = arith.truncf %normalised : f32 to bf16
      ark.yield %narrow : bf16
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
      outs(%z[#ark.region<(d0) -> (0, d0 * 48), [1, 48]>] : memref<1x64xf32>) {
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
