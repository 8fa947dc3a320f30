// RUN: ark-opt %s --ark-assign-target=target=cuda:sm_90a --ark-fuse-tasks | FileCheck %s

// Products of f32 have stages in shared memory: those of a tile of 128 by 128 elements take most of it. A fused task would
// have room for the stages of one product only.
// CHECK-LABEL: ark.program @largeTiles
// CHECK: ark.task "first" grid [264]
// CHECK: ark.task "second" grid [264]
ark.program @largeTiles(
    %x: tensor<33792x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %k: tensor<64x128xf32> {ark.kind = #ark.kind<parameter>, ark.name = "k"},
    %v: tensor<64x128xf32> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<33792x128xf32> {ark.name = "y0"}, tensor<33792x128xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<33792x128xf32>
  %0 = ark.task "first" grid [264]
      ins(%x[#ark.region<(d0) -> (d0 * 128, 0), [128, 64]>] : tensor<33792x64xf32>,
          %k[#ark.region<(d0) -> (0, 0), [64, 128]>] : tensor<64x128xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 128, 0), [128, 128]>] : tensor<33792x128xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<128x64xf32>, %b: tensor<64x128xf32>, %o: tensor<128x128xf32>):
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%o : tensor<128x128xf32>) -> tensor<128x128xf32>
    %r = linalg.matmul ins(%a, %b : tensor<128x64xf32>, tensor<64x128xf32>) outs(%f : tensor<128x128xf32>) -> tensor<128x128xf32>
    ark.yield %r : tensor<128x128xf32>
  } : tensor<33792x128xf32>
  %e1 = tensor.empty() : tensor<33792x128xf32>
  %1 = ark.task "second" grid [264]
      ins(%x[#ark.region<(d0) -> (d0 * 128, 0), [128, 64]>] : tensor<33792x64xf32>,
          %v[#ark.region<(d0) -> (0, 0), [64, 128]>] : tensor<64x128xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 128, 0), [128, 128]>] : tensor<33792x128xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<128x64xf32>, %b: tensor<64x128xf32>, %o: tensor<128x128xf32>):
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%o : tensor<128x128xf32>) -> tensor<128x128xf32>
    %r = linalg.matmul ins(%a, %b : tensor<128x64xf32>, tensor<64x128xf32>) outs(%f : tensor<128x128xf32>) -> tensor<128x128xf32>
    ark.yield %r : tensor<128x128xf32>
  } : tensor<33792x128xf32>
  ark.return %0, %1 : tensor<33792x128xf32>, tensor<33792x128xf32>
}

// The stages of two products with tiles of 128 by 64 elements do not fit either, those of 64 by 64 elements do.
// CHECK-LABEL: ark.program @smallTiles
// CHECK: ark.task "first+second" grid [264]
ark.program @smallTiles(
    %x: tensor<16896x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %k: tensor<64x64xf32> {ark.kind = #ark.kind<parameter>, ark.name = "k"},
    %v: tensor<64x64xf32> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<16896x64xf32> {ark.name = "y0"}, tensor<16896x64xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<16896x64xf32>
  %0 = ark.task "first" grid [264]
      ins(%x[#ark.region<(d0) -> (d0 * 64, 0), [64, 64]>] : tensor<16896x64xf32>,
          %k[#ark.region<(d0) -> (0, 0), [64, 64]>] : tensor<64x64xf32>)
      outs(%e0[#ark.region<(d0) -> (d0 * 64, 0), [64, 64]>] : tensor<16896x64xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %o: tensor<64x64xf32>):
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%o : tensor<64x64xf32>) -> tensor<64x64xf32>
    %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    ark.yield %r : tensor<64x64xf32>
  } : tensor<16896x64xf32>
  %e1 = tensor.empty() : tensor<16896x64xf32>
  %1 = ark.task "second" grid [264]
      ins(%x[#ark.region<(d0) -> (d0 * 64, 0), [64, 64]>] : tensor<16896x64xf32>,
          %v[#ark.region<(d0) -> (0, 0), [64, 64]>] : tensor<64x64xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 64, 0), [64, 64]>] : tensor<16896x64xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<64x64xf32>, %b: tensor<64x64xf32>, %o: tensor<64x64xf32>):
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%o : tensor<64x64xf32>) -> tensor<64x64xf32>
    %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>) outs(%f : tensor<64x64xf32>) -> tensor<64x64xf32>
    ark.yield %r : tensor<64x64xf32>
  } : tensor<16896x64xf32>
  ark.return %0, %1 : tensor<16896x64xf32>, tensor<16896x64xf32>
}
