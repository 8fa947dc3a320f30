// RUN: ark-opt %s --ark-decompose --ark-fuse-elementwise --mlir-print-local-scope | FileCheck %s

// The conversions of Gemma, which computes norms in f32, and its residual sum become part of the op. The residual keeps
// its place before the row.
// CHECK-LABEL: ark.program @conversionsAndReader
// CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[R:.+]] = %{{.+}})
// CHECK-NOT: linalg
// CHECK: %[[Y:.+]]:2 = ark.row_norm ins(%[[R]], %[[X]] : tensor<4x8xbf16>, tensor<4x8xbf16>) outs(%{{.+}} : tensor<4x8xbf16>) scale(
// CHECK-NEXT: ^bb0(%{{.+}}: bf16, %[[XE:.+]]: bf16):
// CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[XE]]
// CHECK-NEXT: ark.yield %[[WIDE]]
// CHECK: ^bb0(%[[N:.+]]: f32, %[[RE:.+]]: bf16, %{{.+}}: bf16):
// CHECK: arith.addf
// CHECK: %[[SUM:.+]] = arith.truncf
// CHECK-NEXT: ark.yield %[[SUM]] : bf16
// CHECK-NOT: linalg
// CHECK: ark.yield %[[Y]]#0
ark.program @conversionsAndReader(
    %x: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %r: tensor<4x8xbf16> {ark.kind = #ark.kind<input>, ark.name = "r"})
    -> (tensor<4x8xbf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%in_x = %x, %in_r = %r) : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16> {
    %wide = ark.cast %in_x to f32 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
    %norm = ark.rmsnorm %wide eps = 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %narrow = ark.cast %norm to bf16 : (tensor<4x8xf32>) -> tensor<4x8xbf16>
    %sum = ark.add %in_r, %narrow : (tensor<4x8xbf16>, tensor<4x8xbf16>) -> tensor<4x8xbf16>
    ark.yield %sum : tensor<4x8xbf16>
  }
  ark.return %0 : tensor<4x8xbf16>
}

// The norm reads its row twice, so a sum before it is computed once and stored.
// CHECK-LABEL: ark.program @sumBeforeTheNormIsStored
// CHECK: %[[SUM:.+]] = linalg.generic
// CHECK: arith.addf
// CHECK: ark.row_norm ins(%[[SUM]] :
ark.program @sumBeforeTheNormIsStored(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %r: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "r"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%in_x = %x, %in_r = %r) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    %sum = ark.add %in_x, %in_r : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %norm = ark.rmsnorm %sum eps = 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %norm : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// The gate is read once, by the epilogue, which hence computes it. Two readers of one element share an input.
// CHECK-LABEL: ark.program @gateIsPartOfTheEpilogue
// CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[Z:.+]] = %{{.+}})
// CHECK-NOT: linalg
// CHECK: ark.row_norm ins(%[[X]], %[[Z]] : tensor<4x8xf32>, tensor<4x8xf32>)
// CHECK: ^bb0(%[[N:.+]]: f32, %[[XE:.+]]: f32, %[[ZE:.+]]: f32):
// CHECK-DAG: %[[GATE:.+]] = math.exp %[[ZE]]
// CHECK: %[[GATED:.+]] = arith.mulf %[[N]], %[[GATE]]
// CHECK: arith.addf %[[GATED]], %[[XE]]
// CHECK-NOT: linalg
// CHECK: ark.yield
ark.program @gateIsPartOfTheEpilogue(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%in_x = %x, %in_z = %z) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> {
    %gate = ark.exp %in_z : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %norm = ark.rmsnorm %in_x eps = 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %gated = ark.mul %norm, %gate : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %sum = ark.add %gated, %in_x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %sum : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// Two readers of one element become one op, which reads the result once.
// CHECK-LABEL: ark.program @readersBecomeOne
// CHECK-NOT: linalg
// CHECK: ark.row_norm
// CHECK: ^bb0(%[[N:.+]]: f32, %{{.+}}: f32):
// CHECK-NEXT: %[[EXP:.+]] = math.exp %[[N]]
// CHECK-NEXT: arith.mulf %[[N]], %[[EXP]]
// CHECK-NOT: linalg
// CHECK: ark.return
ark.program @readersBecomeOne(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%in_x = %x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %norm = ark.layernorm %in_x eps = 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %exp = ark.exp %norm : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %product = ark.mul %norm, %exp : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    ark.yield %product : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// A sum that reads each element of the result twice needs the stored result.
// CHECK-LABEL: ark.program @broadcastResultIsStored
// CHECK: %[[Y:.+]]:2 = ark.row_norm
// CHECK: linalg.generic {{.*}} ins(%[[Y]]#0
ark.program @broadcastResultIsStored(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %z: tensor<2x4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "z"})
    -> (tensor<2x4x8xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%in_x = %x, %in_z = %z) : (tensor<4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32> {
    %norm = ark.rmsnorm %in_x eps = 1.0e-5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %sum = ark.add %norm, %in_z : (tensor<4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
    ark.yield %sum : tensor<2x4x8xf32>
  }
  ark.return %0 : tensor<2x4x8xf32>
}
