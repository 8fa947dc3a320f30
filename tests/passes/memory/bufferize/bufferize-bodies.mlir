// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-bufferize-program,ark.task(ark-bufferize-bodies,cse,canonicalize)))' | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Temporaries of ragged tiles have the full size of the region, so that size
// and strides are static.
// CHECK-LABEL: ark.program @raggedTiles
// CHECK:       ^bb0(%{{.+}}: index, %{{.+}}: index, %[[A:.+]]: memref<?x?xf32, strided<[100, 1], offset: ?>>, %[[O:.+]]: memref<?x?xf32, strided<[100, 1], offset: ?>>):
// CHECK-DAG:     %[[D0:.+]] = memref.dim %[[A]], %c0
// CHECK-DAG:     %[[D1:.+]] = memref.dim %[[A]], %c1
// CHECK:         %[[SUMS:.+]] = memref.alloc() {{.*}}: memref<32xf32>
// CHECK:         %[[SUM:.+]] = memref.subview %[[SUMS]][0] [%[[D0]]] [1] : memref<32xf32> to memref<?xf32, strided<[1]>>
// CHECK:         linalg.fill {{.+}} outs(%[[SUM]]
// CHECK:         linalg.reduce {{.+}} ins(%[[A]] {{.+}} outs(%[[SUM]]
// CHECK:         %[[QUOTIENTS:.+]] = memref.alloc() {{.*}}: memref<32x64xf32>
// CHECK:         %[[QUOTIENT:.+]] = memref.subview %[[QUOTIENTS]][0, 0] [%[[D0]], %[[D1]]] [1, 1] : memref<32x64xf32> to memref<?x?xf32, strided<[64, 1]>>
// CHECK:         linalg.generic {{.+}} ins(%[[A]], %[[SUM]] {{.+}} outs(%[[QUOTIENT]]
// CHECK:         linalg.exp ins(%[[QUOTIENT]] {{.+}} outs(%[[O]]
// CHECK-NOT:     linalg.copy
// CHECK:         ark.yield
ark.program @raggedTiles(%x: tensor<70x100xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<70x100xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<70x100xf32>
  %0 = ark.task "t" grid [3, 2]
      ins(%x[#ark.region<(d0, d1) -> (d0 * 32, d1 * 64), [32, 64]>] : tensor<70x100xf32>)
      outs(%e[#ark.region<(d0, d1) -> (d0 * 32, d1 * 64), [32, 64]>] : tensor<70x100xf32>) {
  ^bb0(%i: index, %j: index, %a: tensor<?x?xf32>, %o: tensor<?x?xf32>):
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %d0 = tensor.dim %a, %c0 : tensor<?x?xf32>
    %d1 = tensor.dim %a, %c1 : tensor<?x?xf32>
    %s0 = tensor.empty(%d0) : tensor<?xf32>
    %s1 = linalg.fill ins(%zero : f32) outs(%s0 : tensor<?xf32>) -> tensor<?xf32>
    %s2 = linalg.reduce { arith.addf } ins(%a : tensor<?x?xf32>) outs(%s1 : tensor<?xf32>) dimensions = [1]
    %q0 = tensor.empty(%d0, %d1) : tensor<?x?xf32>
    %q1 = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
        ins(%a, %s2 : tensor<?x?xf32>, tensor<?xf32>) outs(%q0 : tensor<?x?xf32>) {
    ^bb1(%in: f32, %sum: f32, %out: f32):
      %q = arith.divf %in, %sum : f32
      linalg.yield %q : f32
    } -> tensor<?x?xf32>
    %r0 = tensor.empty(%d0, %d1) : tensor<?x?xf32>
    %r1 = linalg.exp ins(%q1 : tensor<?x?xf32>) outs(%r0 : tensor<?x?xf32>) -> tensor<?x?xf32>
    ark.yield %r1 : tensor<?x?xf32>
  } : tensor<70x100xf32>
  ark.return %0 : tensor<70x100xf32>
}

// -----

// The task writes only a slice of the state, at a checked offset.
// CHECK-LABEL: ark.program @sliceOfAState
// CHECK:       ^bb0(%{{.+}}: index, %[[V:.+]]: memref<1x1x32xf32, {{.+}}>, %[[P:.+]]: memref<i32, strided<[], offset: ?>>, %[[S:.+]]: memref<1x64x32xf32, strided<[2048, 32, 1], offset: ?>>):
// CHECK:         %[[LOAD:.+]] = memref.load %[[P]][]
// CHECK:         %[[CAST:.+]] = arith.index_cast %[[LOAD]]
// CHECK:         %[[K:.+]] = ark.check_index %[[CAST]] below %c64
// CHECK:         %[[SLICE:.+]] = memref.subview %[[S]][0, %[[K]], 0] [1, 1, 32] [1, 1, 1]
// CHECK-NEXT:    linalg.copy ins(%[[V]] {{.+}} outs(%[[SLICE]]
// CHECK-NEXT:    ark.yield
ark.program @sliceOfAState(%s: tensor<2x64x32xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %v: tensor<2x1x32xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %position: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "position"}) {
  %0 = ark.task "update" grid [2]
      ins(%v[#ark.region<(d0) -> (d0, 0, 0), [1, 1, 32]>] : tensor<2x1x32xf32>, %position[#ark.region<(d0) -> (), []>] : tensor<i32>)
      outs(%s[#ark.region<(d0) -> (d0, 0, 0), [1, 64, 32]>] : tensor<2x64x32xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<1x1x32xf32>, %p: tensor<i32>, %o: tensor<1x64x32xf32>):
    %0 = tensor.extract %p[] : tensor<i32>
    %1 = arith.index_cast %0 : i32 to index
    %c64 = arith.constant 64 : index
    %k = ark.check_index %1 below %c64
    %r = tensor.insert_slice %a into %o[0, %k, 0] [1, 1, 32] [1, 1, 1] : tensor<1x1x32xf32> into tensor<1x64x32xf32>
    ark.yield %r : tensor<1x64x32xf32>
  } : tensor<2x64x32xf32>
  ark.return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A value that is read after its buffer would be overwritten moves to a copy of
// static size.
// CHECK-LABEL: ark.program @conflict
// CHECK:       ^bb0(%{{.+}}: index, %{{.+}}: memref<?x16xf32, {{.+}}>, %[[O0:.+]]: memref<?x16xf32, {{.+}}>, %[[O1:.+]]: memref<?x16xf32, {{.+}}>):
// CHECK:         %[[COPIES:.+]] = memref.alloc() {{.*}}: memref<4x16xf32>
// CHECK:         %[[COPY:.+]] = memref.subview %[[COPIES]][0, 0] [%{{.+}}, 16] [1, 1]
// CHECK:         linalg.copy ins(%[[SQUARE:.+]] : {{.+}}) outs(%[[COPY]]
// CHECK:         linalg.generic {{.+}} outs(%[[COPY]]
// CHECK:         linalg.add ins(%[[SQUARE]], %[[COPY]] {{.+}} outs(%[[O1]]
ark.program @conflict(%x: tensor<10x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<10x16xf32> {ark.name = "y"}, tensor<10x16xf32> {ark.name = "z"}) {
  %e = tensor.empty() : tensor<10x16xf32>
  %0:2 = ark.task "t" grid [3]
      ins(%x[#ark.region<(d0) -> (d0 * 4, 0), [4, 16]>] : tensor<10x16xf32>)
      outs(%e[#ark.region<(d0) -> (d0 * 4, 0), [4, 16]>] : tensor<10x16xf32>, %e[#ark.region<(d0) -> (d0 * 4, 0), [4, 16]>] : tensor<10x16xf32>) {
  ^bb0(%i: index, %a: tensor<?x16xf32>, %o0: tensor<?x16xf32>, %o1: tensor<?x16xf32>):
    %s = linalg.square ins(%a : tensor<?x16xf32>) outs(%o0 : tensor<?x16xf32>) -> tensor<?x16xf32>
    %d = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%s : tensor<?x16xf32>) {
    ^bb1(%out: f32):
      %v = arith.addf %out, %out : f32
      linalg.yield %v : f32
    } -> tensor<?x16xf32>
    %r = linalg.add ins(%s, %d : tensor<?x16xf32>, tensor<?x16xf32>) outs(%o1 : tensor<?x16xf32>) -> tensor<?x16xf32>
    ark.yield %s, %r : tensor<?x16xf32>, tensor<?x16xf32>
  } : tensor<10x16xf32>, tensor<10x16xf32>
  ark.return %0#0, %0#1 : tensor<10x16xf32>, tensor<10x16xf32>
}

// -----

// A vCTA updates a tile that it also reads in place.
// CHECK-LABEL: ark.program @readsAndUpdates
// CHECK:       ^bb0(%{{.+}}: index, %{{.+}}: memref<4xf32, {{.+}}>, %[[O:.+]]: memref<4xf32, {{.+}}>):
// CHECK-NEXT:    linalg.exp ins(%[[O]] {{.+}} outs(%[[O]]
// CHECK-NEXT:    ark.yield
ark.program @readsAndUpdates(%s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %0 = ark.task "exp" grid [2] ins(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = linalg.exp ins(%a : tensor<4xf32>) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<8xf32>
  ark.return
}

// -----

// Padding and slices in a loop share one temporary; accumulators stay in place.
// CHECK-LABEL: ark.program @loop
// CHECK:       ^bb0(%{{.+}}: index, %[[A:.+]]: memref<6x256xf32, {{.+}}>, %[[O:.+]]: memref<8x64xf32, strided<[64, 1], offset: ?>>):
// CHECK:         linalg.fill {{.+}} outs(%[[O]]
// CHECK:         scf.for %[[K:.+]] =
// CHECK-NOT:       iter_args
// CHECK:           %[[SLICE:.+]] = memref.subview %[[A]][0, %[[K]]] [6, 64] [1, 1]
// CHECK:           %[[PADDED:.+]] = memref.alloc() {{.*}}: memref<8x64xf32>
// CHECK:           linalg.copy ins(%[[SLICE]]
// CHECK:           linalg.add ins(%[[O]], %[[PADDED]] {{.+}} outs(%[[O]]
// CHECK:         ark.yield
ark.program @loop(%x: tensor<6x256xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<8x64xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<8x64xf32>
  %0 = ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [6, 256]>] : tensor<6x256xf32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [8, 64]>] : tensor<8x64xf32>) {
  ^bb0(%i: index, %a: tensor<6x256xf32>, %o: tensor<8x64xf32>):
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c256 = arith.constant 256 : index
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%o : tensor<8x64xf32>) -> tensor<8x64xf32>
    %r = scf.for %k = %c0 to %c256 step %c64 iter_args(%sum = %f) -> tensor<8x64xf32> {
      %s = tensor.extract_slice %a[0, %k] [6, 64] [1, 1] : tensor<6x256xf32> to tensor<6x64xf32>
      %p = tensor.pad %s low[0, 0] high[2, 0] {
      ^bb1(%m: index, %n: index):
        tensor.yield %zero : f32
      } : tensor<6x64xf32> to tensor<8x64xf32>
      %n = linalg.add ins(%sum, %p : tensor<8x64xf32>, tensor<8x64xf32>) outs(%sum : tensor<8x64xf32>) -> tensor<8x64xf32>
      scf.yield %n : tensor<8x64xf32>
    }
    ark.yield %r : tensor<8x64xf32>
  } : tensor<8x64xf32>
  ark.return %0 : tensor<8x64xf32>
}

// -----

// Some dimensions of extent one are dropped and others kept. Equal strides do
// not tell which.
// CHECK-LABEL: ark.program @droppedDimensions
// CHECK:       ^bb0(%{{.+}}: index, %{{.+}}: index, %[[A:.+]]: memref<1x1x1x1xf32, strided<[1, 20, 1, 1], offset: ?>>, %[[O:.+]]: memref<1x1x1x1xf32, strided<[5, 1, 1, 1], offset: ?>>):
// CHECK:         %[[IN:.+]] = memref.reinterpret_cast %[[A]] to offset: [%{{.+}}], sizes: [1, 1], strides: [1, 20]
// CHECK:         %[[OUT:.+]] = memref.reinterpret_cast %[[O]] to offset: [%{{.+}}], sizes: [1, 1], strides: [5, 1]
// CHECK:         linalg.exp ins(%[[IN]] {{.+}} outs(%[[OUT]]
ark.program @droppedDimensions(%x: tensor<5x20xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<20x5x1x1xf32> {ark.name = "y"}) {
  %t = ark.transpose %x perm = [1, 0] : (tensor<5x20xf32>) -> tensor<20x5xf32>
  %v = ark.reshape %t shape = [20, 5, 1, 1] : (tensor<20x5xf32>) -> tensor<20x5x1x1xf32>
  %e = tensor.empty() : tensor<20x5x1x1xf32>
  %0 = ark.task "t" grid [20, 5]
      ins(%v[#ark.region<(d0, d1) -> (d0, d1, 0, 0), [1, 1, 1, 1]>] : tensor<20x5x1x1xf32>)
      outs(%e[#ark.region<(d0, d1) -> (d0, d1, 0, 0), [1, 1, 1, 1]>] : tensor<20x5x1x1xf32>) {
  ^bb0(%i: index, %j: index, %a: tensor<1x1x1x1xf32>, %o: tensor<1x1x1x1xf32>):
    %0 = tensor.extract_slice %a[0, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1] : tensor<1x1x1x1xf32> to tensor<1x1xf32>
    %1 = tensor.extract_slice %o[0, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1] : tensor<1x1x1x1xf32> to tensor<1x1xf32>
    %2 = linalg.exp ins(%0 : tensor<1x1xf32>) outs(%1 : tensor<1x1xf32>) -> tensor<1x1xf32>
    %3 = tensor.insert_slice %2 into %o[0, 0, 0, 0] [1, 1, 1, 1] [1, 1, 1, 1] : tensor<1x1xf32> into tensor<1x1x1x1xf32>
    ark.yield %3 : tensor<1x1x1x1xf32>
  } : tensor<20x5x1x1xf32>
  ark.return %0 : tensor<20x5x1x1xf32>
}

// -----

// A value that an out and another op need: its temporary gets no old bytes of the out.
// CHECK-LABEL: ark.program @concatOfAConcat
// CHECK:       ^bb0(%{{.+}}: index, %[[A:.+]]: memref<?x4xf32, {{.+}}>, %[[B:.+]]: memref<?x4xf32, {{.+}}>, %[[O:.+]]: memref<?x16xf32, {{.+}}>):
// CHECK:         %[[WHOLE:.+]] = memref.alloc() {{.*}}: memref<32x8xf32>
// CHECK:         %[[PART:.+]] = memref.subview %[[WHOLE]]
// CHECK-NOT:     linalg.copy ins(%{{.+}} : memref<?x8xf32, {{.+}}>) outs(%[[PART]]
// CHECK:         %[[LEFT:.+]] = memref.subview %[[PART]][0, 0]
// CHECK:         linalg.copy ins(%[[A]] {{.+}} outs(%[[LEFT]]
// CHECK:         %[[RIGHT:.+]] = memref.subview %[[PART]][0, 4]
// CHECK:         linalg.copy ins(%[[B]] {{.+}} outs(%[[RIGHT]]
// CHECK:         linalg.copy ins(%[[PART]]
// CHECK:         linalg.exp ins(%[[PART]]
// CHECK-NEXT:    ark.yield
ark.program @concatOfAConcat(
    %x: tensor<70x4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %y: tensor<70x4xf32> {ark.kind = #ark.kind<input>, ark.name = "y"}) -> (tensor<70x16xf32> {ark.name = "z"}) {
  %e = tensor.empty() : tensor<70x16xf32>
  %0 = ark.task "t" grid [3]
      ins(%x[#ark.region<(d0) -> (d0 * 32, 0), [32, 4]>] : tensor<70x4xf32>,
          %y[#ark.region<(d0) -> (d0 * 32, 0), [32, 4]>] : tensor<70x4xf32>)
      outs(%e[#ark.region<(d0) -> (d0 * 32, 0), [32, 16]>] : tensor<70x16xf32>) {
  ^bb0(%i: index, %a: tensor<?x4xf32>, %b: tensor<?x4xf32>, %o: tensor<?x16xf32>):
    %c0 = arith.constant 0 : index
    %d0 = tensor.dim %a, %c0 : tensor<?x4xf32>
    %empty = tensor.empty(%d0) : tensor<?x8xf32>
    %left = tensor.insert_slice %a into %empty[0, 0] [%d0, 4] [1, 1] : tensor<?x4xf32> into tensor<?x8xf32>
    %both = tensor.insert_slice %b into %left[0, 4] [%d0, 4] [1, 1] : tensor<?x4xf32> into tensor<?x8xf32>
    %e1 = tensor.empty(%d0) : tensor<?x8xf32>
    %exp = linalg.exp ins(%both : tensor<?x8xf32>) outs(%e1 : tensor<?x8xf32>) -> tensor<?x8xf32>
    %o1 = tensor.insert_slice %both into %o[0, 0] [%d0, 8] [1, 1] : tensor<?x8xf32> into tensor<?x16xf32>
    %o2 = tensor.insert_slice %exp into %o1[0, 8] [%d0, 8] [1, 1] : tensor<?x8xf32> into tensor<?x16xf32>
    ark.yield %o2 : tensor<?x16xf32>
  } : tensor<70x16xf32>
  ark.return %0 : tensor<70x16xf32>
}
