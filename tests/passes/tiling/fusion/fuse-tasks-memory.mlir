// RUN: ark-opt %s --ark-fuse-tasks | FileCheck %s

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a",
  sms = 2, warps = 16, shared_memory = 262144, bandwidth = 20, flops = 160,
  handoff = 200, barrier = 400, overhead = 50>} {

// Two tasks with a common operand have a temporary of half an SM's memory each.
// The fused task would leave no room for the tables.
// CHECK-LABEL: ark.program @halves
// CHECK: ark.task "first" grid [8]
// CHECK: ark.task "second" grid [8]
ark.program @halves(%x: tensor<8x256x128xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x256xf32> {ark.name = "y0"}, tensor<8x256xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<8x256xf32>
  %0 = ark.task "first" grid [8]
      ins(%x[#ark.region<(d0) -> (d0, 0, 0), [1, 256, 128]>] : tensor<8x256x128xf32>)
      outs(%e0[#ark.region<(d0) -> (d0, 0), [1, 256]>] : tensor<8x256xf32>)
      attributes {ops = ["exp", "reduce_sum"]} {
  ^bb0(%i: index, %a: tensor<1x256x128xf32>, %o: tensor<1x256xf32>):
    %t = tensor.empty() : tensor<1x256x128xf32>
    %s = linalg.exp ins(%a : tensor<1x256x128xf32>) outs(%t : tensor<1x256x128xf32>) -> tensor<1x256x128xf32>
    %r = linalg.reduce { arith.addf } ins(%s : tensor<1x256x128xf32>) outs(%o : tensor<1x256xf32>) dimensions = [2]
    ark.yield %r : tensor<1x256xf32>
  } : tensor<8x256xf32>
  %e1 = tensor.empty() : tensor<8x256xf32>
  %1 = ark.task "second" grid [8]
      ins(%x[#ark.region<(d0) -> (d0, 0, 0), [1, 256, 128]>] : tensor<8x256x128xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 256]>] : tensor<8x256xf32>)
      attributes {ops = ["abs", "reduce_sum"]} {
  ^bb0(%i: index, %a: tensor<1x256x128xf32>, %o: tensor<1x256xf32>):
    %t = tensor.empty() : tensor<1x256x128xf32>
    %s = linalg.abs ins(%a : tensor<1x256x128xf32>) outs(%t : tensor<1x256x128xf32>) -> tensor<1x256x128xf32>
    %r = linalg.reduce { arith.addf } ins(%s : tensor<1x256x128xf32>) outs(%o : tensor<1x256xf32>) dimensions = [2]
    ark.yield %r : tensor<1x256xf32>
  } : tensor<8x256xf32>
  ark.return %0, %1 : tensor<8x256xf32>, tensor<8x256xf32>
}

// Accumulators that are results count, too.
// CHECK-LABEL: ark.program @accumulators
// CHECK: ark.task "first" grid [8]
// CHECK: ark.task "second" grid [8]
ark.program @accumulators(
    %x: tensor<2048x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %k: tensor<64x128xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "k"},
    %v: tensor<64x128xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<2048x128xf32> {ark.name = "y0"}, tensor<2048x128xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<2048x128xf32>
  %0 = ark.task "first" grid [8]
      ins(%x[#ark.region<(d0) -> (d0 * 256, 0), [256, 64]>] : tensor<2048x64xbf16>,
          %k[#ark.region<(d0) -> (0, 0), [64, 128]>] : tensor<64x128xbf16>)
      outs(%e0[#ark.region<(d0) -> (d0 * 256, 0), [256, 128]>] : tensor<2048x128xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<256x64xbf16>, %b: tensor<64x128xbf16>, %o: tensor<256x128xf32>):
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%o : tensor<256x128xf32>) -> tensor<256x128xf32>
    %r = linalg.matmul ins(%a, %b : tensor<256x64xbf16>, tensor<64x128xbf16>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
    ark.yield %r : tensor<256x128xf32>
  } : tensor<2048x128xf32>
  %e1 = tensor.empty() : tensor<2048x128xf32>
  %1 = ark.task "second" grid [8]
      ins(%x[#ark.region<(d0) -> (d0 * 256, 0), [256, 64]>] : tensor<2048x64xbf16>,
          %v[#ark.region<(d0) -> (0, 0), [64, 128]>] : tensor<64x128xbf16>)
      outs(%e1[#ark.region<(d0) -> (d0 * 256, 0), [256, 128]>] : tensor<2048x128xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<256x64xbf16>, %b: tensor<64x128xbf16>, %o: tensor<256x128xf32>):
    %c = arith.constant 0.0 : f32
    %f = linalg.fill ins(%c : f32) outs(%o : tensor<256x128xf32>) -> tensor<256x128xf32>
    %r = linalg.matmul ins(%a, %b : tensor<256x64xbf16>, tensor<64x128xbf16>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
    ark.yield %r : tensor<256x128xf32>
  } : tensor<2048x128xf32>
  ark.return %0, %1 : tensor<2048x128xf32>, tensor<2048x128xf32>
}

// Accumulators that are slices of results, such as those of a head, count as well.
// CHECK-LABEL: ark.program @slices
// CHECK: ark.task "first" grid [8]
// CHECK: ark.task "second" grid [8]
ark.program @slices(
    %x: tensor<2048x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %k: tensor<64x128xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "k"},
    %v: tensor<64x128xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "v"})
    -> (tensor<8x256x128xf32> {ark.name = "y0"}, tensor<8x256x128xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<8x256x128xf32>
  %0 = ark.task "first" grid [8]
      ins(%x[#ark.region<(d0) -> (d0 * 256, 0), [256, 64]>] : tensor<2048x64xbf16>,
          %k[#ark.region<(d0) -> (0, 0), [64, 128]>] : tensor<64x128xbf16>)
      outs(%e0[#ark.region<(d0) -> (d0, 0, 0), [1, 256, 128]>] : tensor<8x256x128xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<256x64xbf16>, %b: tensor<64x128xbf16>, %o: tensor<1x256x128xf32>):
    %c = arith.constant 0.0 : f32
    %s = tensor.extract_slice %o[0, 0, 0] [1, 256, 128] [1, 1, 1] : tensor<1x256x128xf32> to tensor<256x128xf32>
    %f = linalg.fill ins(%c : f32) outs(%s : tensor<256x128xf32>) -> tensor<256x128xf32>
    %r = linalg.matmul ins(%a, %b : tensor<256x64xbf16>, tensor<64x128xbf16>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
    %t = tensor.insert_slice %r into %o[0, 0, 0] [1, 256, 128] [1, 1, 1] : tensor<256x128xf32> into tensor<1x256x128xf32>
    ark.yield %t : tensor<1x256x128xf32>
  } : tensor<8x256x128xf32>
  %e1 = tensor.empty() : tensor<8x256x128xf32>
  %1 = ark.task "second" grid [8]
      ins(%x[#ark.region<(d0) -> (d0 * 256, 0), [256, 64]>] : tensor<2048x64xbf16>,
          %v[#ark.region<(d0) -> (0, 0), [64, 128]>] : tensor<64x128xbf16>)
      outs(%e1[#ark.region<(d0) -> (d0, 0, 0), [1, 256, 128]>] : tensor<8x256x128xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<256x64xbf16>, %b: tensor<64x128xbf16>, %o: tensor<1x256x128xf32>):
    %c = arith.constant 0.0 : f32
    %s = tensor.extract_slice %o[0, 0, 0] [1, 256, 128] [1, 1, 1] : tensor<1x256x128xf32> to tensor<256x128xf32>
    %f = linalg.fill ins(%c : f32) outs(%s : tensor<256x128xf32>) -> tensor<256x128xf32>
    %r = linalg.matmul ins(%a, %b : tensor<256x64xbf16>, tensor<64x128xbf16>) outs(%f : tensor<256x128xf32>) -> tensor<256x128xf32>
    %t = tensor.insert_slice %r into %o[0, 0, 0] [1, 256, 128] [1, 1, 1] : tensor<256x128xf32> into tensor<1x256x128xf32>
    ark.yield %t : tensor<1x256x128xf32>
  } : tensor<8x256x128xf32>
  ark.return %0, %1 : tensor<8x256x128xf32>, tensor<8x256x128xf32>
}

// With temporaries of a quarter of the memory, the tasks fuse.
// CHECK-LABEL: ark.program @quarters
// CHECK: ark.task "first+second" grid [8]
// CHECK-NOT: ark.task
ark.program @quarters(%x: tensor<8x128x128xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8x128xf32> {ark.name = "y0"}, tensor<8x128xf32> {ark.name = "y1"}) {
  %e0 = tensor.empty() : tensor<8x128xf32>
  %0 = ark.task "first" grid [8]
      ins(%x[#ark.region<(d0) -> (d0, 0, 0), [1, 128, 128]>] : tensor<8x128x128xf32>)
      outs(%e0[#ark.region<(d0) -> (d0, 0), [1, 128]>] : tensor<8x128xf32>)
      attributes {ops = ["exp", "reduce_sum"]} {
  ^bb0(%i: index, %a: tensor<1x128x128xf32>, %o: tensor<1x128xf32>):
    %t = tensor.empty() : tensor<1x128x128xf32>
    %s = linalg.exp ins(%a : tensor<1x128x128xf32>) outs(%t : tensor<1x128x128xf32>) -> tensor<1x128x128xf32>
    %r = linalg.reduce { arith.addf } ins(%s : tensor<1x128x128xf32>) outs(%o : tensor<1x128xf32>) dimensions = [2]
    ark.yield %r : tensor<1x128xf32>
  } : tensor<8x128xf32>
  %e1 = tensor.empty() : tensor<8x128xf32>
  %1 = ark.task "second" grid [8]
      ins(%x[#ark.region<(d0) -> (d0, 0, 0), [1, 128, 128]>] : tensor<8x128x128xf32>)
      outs(%e1[#ark.region<(d0) -> (d0, 0), [1, 128]>] : tensor<8x128xf32>)
      attributes {ops = ["abs", "reduce_sum"]} {
  ^bb0(%i: index, %a: tensor<1x128x128xf32>, %o: tensor<1x128xf32>):
    %t = tensor.empty() : tensor<1x128x128xf32>
    %s = linalg.abs ins(%a : tensor<1x128x128xf32>) outs(%t : tensor<1x128x128xf32>) -> tensor<1x128x128xf32>
    %r = linalg.reduce { arith.addf } ins(%s : tensor<1x128x128xf32>) outs(%o : tensor<1x128xf32>) dimensions = [2]
    ark.yield %r : tensor<1x128xf32>
  } : tensor<8x128xf32>
  ark.return %0, %1 : tensor<8x128xf32>, tensor<8x128xf32>
}

}
