// The whole stage, on two layers of a perceptron.
// RUN: ark-opt %s --pass-pipeline='builtin.module(ark.program(ark-resolve-views,ark-bufferize-program,ark.task(ark-bufferize-bodies,cse,canonicalize),lower-affine,ark.task(ark-place-temporaries),ark-plan-arena,ark-verify-memory))' | FileCheck %s

// CHECK-LABEL: ark.program @perceptron(
// CHECK-SAME:    %[[X:.+]]: memref<64x384xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}
// CHECK-SAME:    %[[W1:.+]]: memref<1536x384xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w1"}
// CHECK-SAME:    %[[W2:.+]]: memref<384x1536xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w2"}
// CHECK-SAME:    %[[Y:.+]]: memref<64x384xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}
// CHECK-SAME:    attributes {ark.largest_live_set = 393216 : i64}
ark.program @perceptron(
    %x: tensor<64x384xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w1: tensor<1536x384xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w1"},
    %w2: tensor<384x1536xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w2"})
    -> (tensor<64x384xf32> {ark.name = "y"}) {
  // CHECK: %[[ARENA:.+]] = ark.arena : memref<393216xi8>
  // CHECK: %[[OFFSET:.+]] = arith.constant 0 : index
  // CHECK: %[[HIDDEN:.+]] = memref.view %[[ARENA]][%[[OFFSET]]][] : memref<393216xi8> to memref<64x1536xf32>
  %0 = tensor.empty() : tensor<64x1536xf32>
  // CHECK: ark.task "fc1" grid [2, 12]
  // CHECK-SAME: ins(%[[X]][{{.+}}] : memref<64x384xf32>, %[[W1]][{{.+}}] : memref<1536x384xf32>)
  // CHECK-SAME: outs(%[[HIDDEN]][{{.+}}] : memref<64x1536xf32>)
  // CHECK-SAME: attributes {ops = ["matmul", "relu"], shared_memory = 16384 : i64}
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %{{.+}}: index,
  // CHECK-SAME:   %[[A:.+]]: memref<32x384xf32, strided<[384, 1], offset: ?>>
  // CHECK-SAME:   %[[B:.+]]: memref<128x384xf32, strided<[384, 1], offset: ?>>
  // CHECK-SAME:   %[[OUT:.+]]: memref<32x128xf32, strided<[1536, 1], offset: ?>>
  // CHECK-NEXT:   %[[SUM:.+]] = memref.alloca() {{.*}}: memref<32x128xf32>
  // CHECK:        linalg.fill ins(%{{.+}}) outs(%[[SUM]]
  // CHECK-NEXT:   linalg.matmul {{.+}} ins(%[[A]], %[[B]] {{.+}} outs(%[[SUM]]
  // CHECK-NEXT:   linalg.generic {{.+}} ins(%[[SUM]] {{.+}} outs(%[[OUT]]
  // CHECK-NOT:    linalg.copy
  // CHECK:        ark.yield{{$}}
  %1 = ark.task "fc1" grid [2, 12]
      ins(%x[#ark.region<(d0, d1) -> (d0 * 32, 0), [32, 384]>] : tensor<64x384xf32>,
          %w1[#ark.region<(d0, d1) -> (d1 * 128, 0), [128, 384]>] : tensor<1536x384xf32>)
      outs(%0[#ark.region<(d0, d1) -> (d0 * 32, d1 * 128), [32, 128]>] : tensor<64x1536xf32>)
      attributes {ops = ["matmul", "relu"]} {
  ^bb0(%i: index, %j: index, %a: tensor<32x384xf32>, %b: tensor<128x384xf32>, %o: tensor<32x128xf32>):
    %zero = arith.constant 0.0 : f32
    %e0 = tensor.empty() : tensor<32x128xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32x128xf32>) -> tensor<32x128xf32>
    %m = linalg.matmul
        indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
        ins(%a, %b : tensor<32x384xf32>, tensor<128x384xf32>) outs(%f : tensor<32x128xf32>) -> tensor<32x128xf32>
    %e1 = tensor.empty() : tensor<32x128xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
        ins(%m : tensor<32x128xf32>) outs(%e1 : tensor<32x128xf32>) {
    ^bb1(%in: f32, %out: f32):
      %max = arith.maximumf %in, %zero : f32
      linalg.yield %max : f32
    } -> tensor<32x128xf32>
    ark.yield %r : tensor<32x128xf32>
  } : tensor<64x1536xf32>
  %2 = tensor.empty() : tensor<64x384xf32>
  // The producer of a result writes straight into the output.
  // CHECK: ark.task "fc2" grid [2, 3]
  // CHECK-SAME: ins(%[[HIDDEN]][{{.+}}] : memref<64x1536xf32>, %[[W2]][
  // CHECK-SAME: outs(%[[Y]][{{.+}}] : memref<64x384xf32>)
  // CHECK-NOT: memref.alloca
  // CHECK:     linalg.matmul {{.+}} outs(%[[TILE:.+]] : memref<32x128xf32, strided<[384, 1], offset: ?>>)
  // CHECK-NEXT: ark.yield{{$}}
  %3 = ark.task "fc2" grid [2, 3]
      ins(%1[#ark.region<(d0, d1) -> (d0 * 32, 0), [32, 1536]>] : tensor<64x1536xf32>,
          %w2[#ark.region<(d0, d1) -> (d1 * 128, 0), [128, 1536]>] : tensor<384x1536xf32>)
      outs(%2[#ark.region<(d0, d1) -> (d0 * 32, d1 * 128), [32, 128]>] : tensor<64x384xf32>) {
  ^bb0(%i: index, %j: index, %a: tensor<32x1536xf32>, %b: tensor<128x1536xf32>, %o: tensor<32x128xf32>):
    %zero = arith.constant 0.0 : f32
    %f = linalg.fill ins(%zero : f32) outs(%o : tensor<32x128xf32>) -> tensor<32x128xf32>
    %m = linalg.matmul
        indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>]
        ins(%a, %b : tensor<32x1536xf32>, tensor<128x1536xf32>) outs(%f : tensor<32x128xf32>) -> tensor<32x128xf32>
    ark.yield %m : tensor<32x128xf32>
  } : tensor<64x384xf32>
  // CHECK: ark.return{{$}}
  ark.return %3 : tensor<64x384xf32>
}
