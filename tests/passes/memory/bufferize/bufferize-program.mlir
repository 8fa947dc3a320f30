// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-bufferize-program))' | FileCheck %s

// CHECK-LABEL: ark.program @argumentsAndResults(
// CHECK-SAME:    %[[X:[^:]+]]: memref<8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}
// CHECK-SAME:    %[[N:[^:]+]]: memref<i32> {ark.kind = #ark.kind<scalar>, ark.max = 8 : i64, ark.name = "n"}
// CHECK-SAME:    %[[Y:[^:]+]]: memref<8x16xf32> {ark.kind = #ark.kind<output>, ark.name = "x"})
// CHECK-NEXT:  ark.task "relu" grid [2]
// CHECK-SAME:    ins(%[[X]][#ark.region<(d0) -> (d0 * 4, 0), [4, 16]>] : memref<8x16xf32>, %[[N]][#ark.region<(d0) -> (), []>] : memref<i32>)
// CHECK-SAME:    outs(%[[Y]][#ark.region<(d0) -> (d0 * 4, 0), [4, 16]>] : memref<8x16xf32>)
// CHECK-SAME:    attributes {ops = ["relu"], warps = 2 : i64}
// CHECK-NEXT:  ^bb0(%{{.+}}: index, %[[A:.+]]: memref<4x16xf32, strided<[16, 1], offset: ?>>, %[[B:.+]]: memref<i32, strided<[], offset: ?>>, %[[O:.+]]: memref<4x16xf32, strided<[16, 1], offset: ?>>):
// CHECK-DAG:     %[[OUT:.+]] = bufferization.to_tensor %[[O]] restrict writable
// CHECK-DAG:     %[[IN:.+]] = bufferization.to_tensor %[[A]] restrict :
// CHECK-DAG:     %[[NIN:.+]] = bufferization.to_tensor %[[B]] restrict :
// CHECK:         %[[D:.+]] = bufferization.materialize_in_destination %[[IN]] in %[[OUT]]
// CHECK-NEXT:    bufferization.materialize_in_destination %[[D]] in restrict writable %[[O]]
// CHECK-NEXT:    ark.yield{{$}}
// CHECK:       ark.return{{$}}
ark.program @argumentsAndResults(
    %x: tensor<8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n", ark.max = 8 : i64})
    -> (tensor<8x16xf32> {ark.name = "x"}) {
  %e = tensor.empty() : tensor<8x16xf32>
  %0 = ark.task "relu" grid [2]
      ins(%x[#ark.region<(d0) -> (d0 * 4, 0), [4, 16]>] : tensor<8x16xf32>, %n[#ark.region<(d0) -> (), []>] : tensor<i32>)
      outs(%e[#ark.region<(d0) -> (d0 * 4, 0), [4, 16]>] : tensor<8x16xf32>)
      attributes {ops = ["relu"], warps = 2 : i64} {
  ^bb0(%i: index, %a: tensor<4x16xf32>, %b: tensor<i32>, %o: tensor<4x16xf32>):
    ark.yield %a : tensor<4x16xf32>
  } : tensor<8x16xf32>
  ark.return %0 : tensor<8x16xf32>
}

// -----

// The producer writes in the order of dimensions that the consumer reads.
// CHECK-LABEL: ark.program @layoutOfTheConsumer(
// CHECK:       %[[BUFFER:.+]] = memref.alloc() : memref<2x64x12x32xf32>
// CHECK-NEXT:  %[[HEADS:.+]] = memref.reinterpret_cast %[[BUFFER]] to offset: [0], sizes: [2, 12, 64, 32], strides: [24576, 32, 384, 1]
// CHECK-NEXT:  ark.task "attention"
// CHECK-SAME:    outs(%[[HEADS]][{{.+}}] : memref<2x12x64x32xf32, strided<[24576, 32, 384, 1]>>)
// CHECK:         ^bb0({{.+}}, %{{.+}}: memref<1x12x64x32xf32, strided<[24576, 32, 384, 1], offset: ?>>):
// CHECK:       %[[MERGED:.+]] = memref.reinterpret_cast %[[BUFFER]] to offset: [0], sizes: [128, 384], strides: [384, 1] : memref<2x64x12x32xf32> to memref<128x384xf32>
// CHECK-NEXT:  ark.task "project" grid [1] ins(%[[MERGED]][{{.+}}] : memref<128x384xf32>)
// CHECK-NEXT:  ^bb0(%{{.+}}: index, %{{.+}}: memref<128x384xf32, strided<[384, 1], offset: ?>>
ark.program @layoutOfTheConsumer(%x: tensor<2x12x64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<128x384xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<2x12x64x32xf32>
  %0 = ark.task "attention" grid [2] ins(%x[#ark.region<(d0) -> (d0, 0, 0, 0), [1, 12, 64, 32]>] : tensor<2x12x64x32xf32>)
      outs(%e[#ark.region<(d0) -> (d0, 0, 0, 0), [1, 12, 64, 32]>] : tensor<2x12x64x32xf32>) {
  ^bb0(%i: index, %a: tensor<1x12x64x32xf32>, %o: tensor<1x12x64x32xf32>):
    ark.yield %a : tensor<1x12x64x32xf32>
  } : tensor<2x12x64x32xf32>
  %1 = ark.transpose %0 perm = [0, 2, 1, 3] : (tensor<2x12x64x32xf32>) -> tensor<2x64x12x32xf32>
  %2 = ark.reshape %1 shape = [128, 384] : (tensor<2x64x12x32xf32>) -> tensor<128x384xf32>
  %e1 = tensor.empty() : tensor<128x384xf32>
  %3 = ark.task "project" grid [1] ins(%2[#ark.region<(d0) -> (0, 0), [128, 384]>] : tensor<128x384xf32>)
      outs(%e1[#ark.region<(d0) -> (0, 0), [128, 384]>] : tensor<128x384xf32>) {
  ^bb0(%i: index, %a: tensor<128x384xf32>, %o: tensor<128x384xf32>):
    ark.yield %a : tensor<128x384xf32>
  } : tensor<128x384xf32>
  ark.return %3 : tensor<128x384xf32>
}

// -----

// A result that consumers read in two orders keeps the layout of its producer.
// CHECK-LABEL: ark.program @twoOrders(
// CHECK:       %[[BUFFER:.+]] = memref.alloc() : memref<4x8xf32>
// CHECK:       ark.task "t" grid [1] ins() outs(%[[BUFFER]][
// CHECK:       %[[T:.+]] = memref.reinterpret_cast %[[BUFFER]] to offset: [0], sizes: [8, 4], strides: [1, 8]
// CHECK:       ark.task "u" grid [1] ins(%[[BUFFER]][{{.+}}, %[[T]][
ark.program @twoOrders() -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4x8xf32>
  %0 = ark.task "t" grid [1] ins() outs(%e[#ark.region<(d0) -> (0, 0), [4, 8]>] : tensor<4x8xf32>) {
  ^bb0(%i: index, %o: tensor<4x8xf32>):
    ark.yield %o : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %1 = ark.transpose %0 perm = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %e1 = tensor.empty() : tensor<4xf32>
  %2 = ark.task "u" grid [1] ins(%0[#ark.region<(d0) -> (0, 0), [4, 8]>] : tensor<4x8xf32>, %1[#ark.region<(d0) -> (0, 0), [8, 4]>] : tensor<8x4xf32>)
      outs(%e1[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4x8xf32>, %b: tensor<8x4xf32>, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %2 : tensor<4xf32>
}

// -----

// Slices, broadcasts and identities compose into one cast of the buffer.
// CHECK-LABEL: ark.program @chainsOfViews(
// CHECK-SAME:    %[[X:[^:]+]]: memref<6x8xf32>
// CHECK-DAG:   %[[SLICE:.+]] = memref.reinterpret_cast %[[X]] to offset: [10], sizes: [2, 3], strides: [16, 2] : memref<6x8xf32> to memref<2x3xf32, strided<[16, 2], offset: 10>>
// CHECK-DAG:   %[[ROW:.+]] = memref.reinterpret_cast %[[X]] to offset: [16], sizes: [5, 8], strides: [0, 1] : memref<6x8xf32> to memref<5x8xf32, strided<[0, 1], offset: 16>>
// CHECK-DAG:   %[[UNIT:.+]] = memref.reinterpret_cast %[[X]] to offset: [0], sizes: [6, 1, 8], strides: [8, 8, 1] : memref<6x8xf32> to memref<6x1x8xf32>
// CHECK:       ark.task "t" grid [1] ins(%[[SLICE]][{{.+}}, %[[ROW]][{{.+}}, %[[UNIT]][
ark.program @chainsOfViews(%x: tensor<6x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %0 = ark.slice %x starts = [1, 2] stops = [5, 8] steps = [2, 2] : (tensor<6x8xf32>) -> tensor<2x3xf32>
  %1 = ark.identity %0 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %2 = ark.slice %x starts = [2, 0] stops = [3, 8] steps = [1, 1] : (tensor<6x8xf32>) -> tensor<1x8xf32>
  %3 = ark.broadcast_to %2 shape = [5, 8] : (tensor<1x8xf32>) -> tensor<5x8xf32>
  %4 = ark.reshape %x shape = [6, 1, 8] : (tensor<6x8xf32>) -> tensor<6x1x8xf32>
  %e = tensor.empty() : tensor<4xf32>
  %5 = ark.task "t" grid [1]
      ins(%1[#ark.region<(d0) -> (0, 0), [2, 3]>] : tensor<2x3xf32>,
          %3[#ark.region<(d0) -> (0, 0), [5, 8]>] : tensor<5x8xf32>,
          %4[#ark.region<(d0) -> (0, 0, 0), [6, 1, 8]>] : tensor<6x1x8xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<2x3xf32>, %b: tensor<5x8xf32>, %c: tensor<6x1x8xf32>, %o: tensor<4xf32>):
    ark.yield %o : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %5 : tensor<4xf32>
}

// -----

// Equal constants become one argument; a splat becomes one element.
// CHECK-LABEL: ark.program @constants(
// CHECK-SAME:    %[[Y:[^:]+]]: memref<2x2xi32> {ark.kind = #ark.kind<output>
// CHECK-SAME:    %[[C0:[^:]+]]: memref<2x2xi32> {ark.kind = #ark.kind<constant>, ark.name = "constant0", ark.value = dense<{{.+}}1, 2], [3, 4{{.+}}> : tensor<2x2xi32>}
// CHECK-SAME:    %[[C1:[^:]+]]: memref<1xi32> {ark.kind = #ark.kind<constant>, ark.name = "constant1", ark.value = dense<7> : tensor<1xi32>})
// CHECK-NEXT:  %[[SPLAT:.+]] = memref.reinterpret_cast %[[C1]] to offset: [0], sizes: [2, 2], strides: [0, 0] : memref<1xi32> to memref<2x2xi32, strided<[0, 0]>>
// CHECK-NEXT:  %[[OTHER:.+]] = memref.reinterpret_cast %[[C1]] to offset: [0], sizes: [4], strides: [0]
// CHECK-NEXT:  ark.task "t" grid [1] ins(%[[C0]][{{.+}}, %[[C0]][{{.+}}, %[[SPLAT]][{{.+}}, %[[OTHER]][{{.+}}) outs(%[[Y]][
ark.program @constants() -> (tensor<2x2xi32> {ark.name = "y"}) {
  %0 = ark.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %1 = ark.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  %2 = ark.constant dense<7> : tensor<2x2xi32>
  %3 = ark.constant dense<7> : tensor<4xi32>
  %e = tensor.empty() : tensor<2x2xi32>
  %4 = ark.task "t" grid [1]
      ins(%0[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xi32>, %1[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xi32>,
          %2[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xi32>, %3[#ark.region<(d0) -> (0), [4]>] : tensor<4xi32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [2, 2]>] : tensor<2x2xi32>) {
  ^bb0(%i: index, %a: tensor<2x2xi32>, %b: tensor<2x2xi32>, %c: tensor<2x2xi32>, %d: tensor<4xi32>, %o: tensor<2x2xi32>):
    ark.yield %a : tensor<2x2xi32>
  } : tensor<2x2xi32>
  ark.return %4 : tensor<2x2xi32>
}

// -----

// An update writes to the buffer of the state, after all readers of the old
// value, wherever they are in the block.
// CHECK-LABEL: ark.program @stateUpdatedInPlace(
// CHECK-SAME:    %[[S:[^:]+]]: memref<4x8xf32> {ark.kind = #ark.kind<state>
// CHECK-SAME:    %[[OLD:[^:]+]]: memref<8x4xf32> {ark.kind = #ark.kind<output>, ark.name = "old"}
// CHECK-SAME:    %[[NEW:[^:]+]]: memref<4x8xf32> {ark.kind = #ark.kind<output>, ark.name = "new"}
// CHECK:       %[[T:.+]] = memref.reinterpret_cast %[[S]] to offset: [0], sizes: [8, 4], strides: [1, 8]
// CHECK:       ark.task "read_old" grid [1] ins(%[[T]][{{.+}}) outs(%[[OLD]][
// CHECK:       ark.task "update" grid [2] ins() outs(%[[S]][#ark.region<(d0) -> (0, 0), [4, 8]>] : memref<4x8xf32>) attributes {in_place}
// CHECK:       ark.task "read_new" grid [1] ins(%[[S]][{{.+}}) outs(%[[NEW]][
ark.program @stateUpdatedInPlace(%s: tensor<4x8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"})
    -> (tensor<8x4xf32> {ark.name = "old"}, tensor<4x8xf32> {ark.name = "new"}) {
  %0 = ark.task "update" grid [2] ins() outs(%s[#ark.region<(d0) -> (0, 0), [4, 8]>] : tensor<4x8xf32>) attributes {in_place} {
  ^bb0(%i: index, %o: tensor<4x8xf32>):
    ark.yield %o : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %e1 = tensor.empty() : tensor<4x8xf32>
  %1 = ark.task "read_new" grid [1] ins(%0[#ark.region<(d0) -> (0, 0), [4, 8]>] : tensor<4x8xf32>)
      outs(%e1[#ark.region<(d0) -> (0, 0), [4, 8]>] : tensor<4x8xf32>) {
  ^bb0(%i: index, %a: tensor<4x8xf32>, %o: tensor<4x8xf32>):
    ark.yield %a : tensor<4x8xf32>
  } : tensor<4x8xf32>
  %2 = ark.transpose %s perm = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %e3 = tensor.empty() : tensor<8x4xf32>
  %3 = ark.task "read_old" grid [1] ins(%2[#ark.region<(d0) -> (0, 0), [8, 4]>] : tensor<8x4xf32>)
      outs(%e3[#ark.region<(d0) -> (0, 0), [8, 4]>] : tensor<8x4xf32>) {
  ^bb0(%i: index, %a: tensor<8x4xf32>, %o: tensor<8x4xf32>):
    ark.yield %a : tensor<8x4xf32>
  } : tensor<8x4xf32>
  ark.return %3, %1 : tensor<8x4xf32>, tensor<4x8xf32>
}

// -----

// A tensor that a vCTA reads and updates is a single argument of the body.
// CHECK-LABEL: ark.program @readsAndUpdates(
// CHECK:       ^bb0(%{{.+}}: index, %{{.+}}: memref<4xf32, strided<[1], offset: ?>>, %[[O:.+]]: memref<4xf32, strided<[1], offset: ?>>):
// CHECK:         %[[T:.+]] = bufferization.to_tensor %[[O]] restrict writable
// CHECK:         math.exp %[[T]]
ark.program @readsAndUpdates(%s: tensor<8xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  %0 = ark.task "exp" grid [2] ins(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>)
      outs(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : tensor<8xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: tensor<4xf32>, %o: tensor<4xf32>):
    %r = math.exp %a : tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  } : tensor<8xf32>
  ark.return
}

// -----

// Offset and strides count elements of the view. `ark.noop` of a tensor leaves only the task that computes it.
// CHECK-LABEL: ark.program @bytesOfAnotherType(
// CHECK-SAME:    %[[X:[^:]+]]: memref<6x8xf32>
// CHECK:       %[[PART:.+]] = ark.buffer_cast %[[X]] : memref<6x8xf32> to memref<3x8xf16, strided<[32, 1], offset: 4>>
// CHECK-NEXT:  %[[WORDS:.+]] = ark.buffer_cast %[[X]] : memref<6x8xf32> to memref<6x8xi32>
// CHECK-NEXT:  ark.task "t" grid [1]
// CHECK-SAME:    ins(%[[PART]][{{.+}}] : memref<3x8xf16, strided<[32, 1], offset: 4>>, %[[WORDS]][{{.+}}] : memref<6x8xi32>)
// CHECK-NEXT:  ^bb0(%{{.+}}: index, %{{.+}}: memref<3x8xf16, strided<[32, 1], offset: ?>>, %{{.+}}: memref<6x8xi32, strided<[8, 1], offset: ?>>
// CHECK-NOT:   ark.noop
ark.program @bytesOfAnotherType(%x: tensor<6x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<3x8xf16> {ark.name = "y"}) {
  %0 = ark.slice %x starts = [0, 2] stops = [6, 6] steps = [2, 1] : (tensor<6x8xf32>) -> tensor<3x4xf32>
  %1 = ark.bitcast %0 to f16 : (tensor<3x4xf32>) -> tensor<3x8xf16>
  %2 = ark.bitcast %x to i32 : (tensor<6x8xf32>) -> tensor<6x8xi32>
  %e = tensor.empty() : tensor<3x8xf16>
  %3 = ark.task "t" grid [1] ins(%1[#ark.region<(d0) -> (0, 0), [3, 8]>] : tensor<3x8xf16>,
                                 %2[#ark.region<(d0) -> (0, 0), [6, 8]>] : tensor<6x8xi32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [3, 8]>] : tensor<3x8xf16>) {
  ^bb0(%i: index, %a: tensor<3x8xf16>, %b: tensor<6x8xi32>, %o: tensor<3x8xf16>):
    ark.yield %a : tensor<3x8xf16>
  } : tensor<3x8xf16>
  ark.noop %3 : tensor<3x8xf16>
  ark.return %3 : tensor<3x8xf16>
}
