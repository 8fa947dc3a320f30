// Only the body of ark.quantized_matmul is streamed: the stream decodes the bits of the weights itself.
// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)' | FileCheck %s

// The control: a body with the ops of ark.quantized_matmul is streamed.
// CHECK-LABEL: func.func private @body_custom_stream(
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k floordiv 2)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.program @sameBody(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [4] ins(%x[#ark.region<(d0) -> (0, 0), [1, 1024]>] : tensor<1x1024xbf16>, %w[#ark.region<(d0) -> (d0 * 16, 0), [16, 512]>] : tensor<64x512xi8>, %s[#ark.region<(d0) -> (d0 * 16, 0), [16, 1]>] : tensor<64x1xf32>)
      out <(d0) -> (0, d0 * 16), [1, 16]> {
  ^bb0(%i: index, %a: tensor<1x1024xbf16>, %b: tensor<16x512xi8>, %c: tensor<16x1xf32>, %o: tensor<1x16xf32>):
    %none = arith.constant 0.0 : f32
    %zeros = linalg.fill ins(%none : f32) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b, %c : tensor<1x1024xbf16>, tensor<16x512xi8>, tensor<16x1xf32>) outs(%zeros : tensor<1x16xf32>) {
    ^bb0(%xe: bf16, %we: i8, %scale: f32, %sum: f32):
      %xf = arith.extf %xe : bf16 to f32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %mask = arith.constant 15 : i32
      %eight = arith.constant 8 : i32
      %index = linalg.index 2 : index
      %k = arith.index_cast %index : index to i32
      %second = arith.andi %k, %one : i32
      %shift = arith.shli %second, %two : i32
      %byte = arith.extui %we : i8 to i32
      %shifted = arith.shrui %byte, %shift : i32
      %bits = arith.andi %shifted, %mask : i32
      %offset = arith.subi %bits, %eight : i32
      %number = arith.sitofp %offset : i32 to f32
      %scaled = arith.mulf %number, %scale : f32
      %product = arith.mulf %xf, %scaled : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// The number with the lower index has the upper bits of a byte.
// CHECK-LABEL: ark.kernel @upperBitsFirst
// CHECK-NOT: @body_custom_stream
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k floordiv 2)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.program @upperBitsFirst(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [4] ins(%x[#ark.region<(d0) -> (0, 0), [1, 1024]>] : tensor<1x1024xbf16>, %w[#ark.region<(d0) -> (d0 * 16, 0), [16, 512]>] : tensor<64x512xi8>, %s[#ark.region<(d0) -> (d0 * 16, 0), [16, 1]>] : tensor<64x1xf32>)
      out <(d0) -> (0, d0 * 16), [1, 16]> {
  ^bb0(%i: index, %a: tensor<1x1024xbf16>, %b: tensor<16x512xi8>, %c: tensor<16x1xf32>, %o: tensor<1x16xf32>):
    %none = arith.constant 0.0 : f32
    %zeros = linalg.fill ins(%none : f32) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b, %c : tensor<1x1024xbf16>, tensor<16x512xi8>, tensor<16x1xf32>) outs(%zeros : tensor<1x16xf32>) {
    ^bb0(%xe: bf16, %we: i8, %scale: f32, %sum: f32):
      %xf = arith.extf %xe : bf16 to f32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %mask = arith.constant 15 : i32
      %eight = arith.constant 8 : i32
      %index = linalg.index 2 : index
      %k = arith.index_cast %index : index to i32
      %second = arith.andi %k, %one : i32
      %first = arith.subi %one, %second : i32
      %shift = arith.shli %first, %two : i32
      %byte = arith.extui %we : i8 to i32
      %shifted = arith.shrui %byte, %shift : i32
      %bits = arith.andi %shifted, %mask : i32
      %offset = arith.subi %bits, %eight : i32
      %number = arith.sitofp %offset : i32 to f32
      %scaled = arith.mulf %number, %scale : f32
      %product = arith.mulf %xf, %scaled : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// Numbers of 4 bits with a sign.
// CHECK-LABEL: ark.kernel @signedNumbers
// CHECK-NOT: @body_custom_stream
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k floordiv 2)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.program @signedNumbers(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [4] ins(%x[#ark.region<(d0) -> (0, 0), [1, 1024]>] : tensor<1x1024xbf16>, %w[#ark.region<(d0) -> (d0 * 16, 0), [16, 512]>] : tensor<64x512xi8>, %s[#ark.region<(d0) -> (d0 * 16, 0), [16, 1]>] : tensor<64x1xf32>)
      out <(d0) -> (0, d0 * 16), [1, 16]> {
  ^bb0(%i: index, %a: tensor<1x1024xbf16>, %b: tensor<16x512xi8>, %c: tensor<16x1xf32>, %o: tensor<1x16xf32>):
    %none = arith.constant 0.0 : f32
    %zeros = linalg.fill ins(%none : f32) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b, %c : tensor<1x1024xbf16>, tensor<16x512xi8>, tensor<16x1xf32>) outs(%zeros : tensor<1x16xf32>) {
    ^bb0(%xe: bf16, %we: i8, %scale: f32, %sum: f32):
      %xf = arith.extf %xe : bf16 to f32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %mask = arith.constant 15 : i32
      %eight = arith.constant 8 : i32
      %index = linalg.index 2 : index
      %k = arith.index_cast %index : index to i32
      %second = arith.andi %k, %one : i32
      %shift = arith.shli %second, %two : i32
      %byte = arith.extui %we : i8 to i32
      %shifted = arith.shrui %byte, %shift : i32
      %bits = arith.andi %shifted, %mask : i32
      %up = arith.constant 28 : i32
      %left = arith.shli %bits, %up : i32
      %signed = arith.shrsi %left, %up : i32
      %number = arith.sitofp %signed : i32 to f32
      %scaled = arith.mulf %number, %scale : f32
      %product = arith.mulf %xf, %scaled : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// Another zero than 8.
// CHECK-LABEL: ark.kernel @anotherZero
// CHECK-NOT: @body_custom_stream
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k floordiv 2)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.program @anotherZero(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [4] ins(%x[#ark.region<(d0) -> (0, 0), [1, 1024]>] : tensor<1x1024xbf16>, %w[#ark.region<(d0) -> (d0 * 16, 0), [16, 512]>] : tensor<64x512xi8>, %s[#ark.region<(d0) -> (d0 * 16, 0), [16, 1]>] : tensor<64x1xf32>)
      out <(d0) -> (0, d0 * 16), [1, 16]> {
  ^bb0(%i: index, %a: tensor<1x1024xbf16>, %b: tensor<16x512xi8>, %c: tensor<16x1xf32>, %o: tensor<1x16xf32>):
    %none = arith.constant 0.0 : f32
    %zeros = linalg.fill ins(%none : f32) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b, %c : tensor<1x1024xbf16>, tensor<16x512xi8>, tensor<16x1xf32>) outs(%zeros : tensor<1x16xf32>) {
    ^bb0(%xe: bf16, %we: i8, %scale: f32, %sum: f32):
      %xf = arith.extf %xe : bf16 to f32
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %mask = arith.constant 15 : i32
      %eight = arith.constant 8 : i32
      %index = linalg.index 2 : index
      %k = arith.index_cast %index : index to i32
      %second = arith.andi %k, %one : i32
      %shift = arith.shli %second, %two : i32
      %byte = arith.extui %we : i8 to i32
      %shifted = arith.shrui %byte, %shift : i32
      %bits = arith.andi %shifted, %mask : i32
      %seven = arith.constant 7 : i32
      %offset = arith.subi %bits, %seven : i32
      %number = arith.sitofp %offset : i32 to f32
      %scaled = arith.mulf %number, %scale : f32
      %product = arith.mulf %xf, %scaled : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// The product of a function of the weights.
// CHECK-LABEL: ark.kernel @functionOfWeights
// CHECK-NOT: @body_custom_stream
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.program @functionOfWeights(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x1024xbf16> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [4] ins(%x[#ark.region<(d0) -> (0, 0), [1, 1024]>] : tensor<1x1024xbf16>, %w[#ark.region<(d0) -> (d0 * 16, 0), [16, 1024]>] : tensor<64x1024xbf16>, %s[#ark.region<(d0) -> (d0 * 16, 0), [16, 1]>] : tensor<64x1xf32>)
      out <(d0) -> (0, d0 * 16), [1, 16]> {
  ^bb0(%i: index, %a: tensor<1x1024xbf16>, %b: tensor<16x1024xbf16>, %c: tensor<16x1xf32>, %o: tensor<1x16xf32>):
    %none = arith.constant 0.0 : f32
    %zeros = linalg.fill ins(%none : f32) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b, %c : tensor<1x1024xbf16>, tensor<16x1024xbf16>, tensor<16x1xf32>) outs(%zeros : tensor<1x16xf32>) {
    ^bb0(%xe: bf16, %we: bf16, %scale: f32, %sum: f32):
      %xf = arith.extf %xe : bf16 to f32
      %wide = arith.extf %we : bf16 to f32
      %number = math.exp %wide : f32
      %scaled = arith.mulf %number, %scale : f32
      %product = arith.mulf %xf, %scaled : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// Integers of 8 bits.
// CHECK-LABEL: ark.kernel @eightBitIntegers
// CHECK-NOT: @body_custom_stream
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.program @eightBitIntegers(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x1024xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [4] ins(%x[#ark.region<(d0) -> (0, 0), [1, 1024]>] : tensor<1x1024xbf16>, %w[#ark.region<(d0) -> (d0 * 16, 0), [16, 1024]>] : tensor<64x1024xi8>, %s[#ark.region<(d0) -> (d0 * 16, 0), [16, 1]>] : tensor<64x1xf32>)
      out <(d0) -> (0, d0 * 16), [1, 16]> {
  ^bb0(%i: index, %a: tensor<1x1024xbf16>, %b: tensor<16x1024xi8>, %c: tensor<16x1xf32>, %o: tensor<1x16xf32>):
    %none = arith.constant 0.0 : f32
    %zeros = linalg.fill ins(%none : f32) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b, %c : tensor<1x1024xbf16>, tensor<16x1024xi8>, tensor<16x1xf32>) outs(%zeros : tensor<1x16xf32>) {
    ^bb0(%xe: bf16, %we: i8, %scale: f32, %sum: f32):
      %xf = arith.extf %xe : bf16 to f32
      %number = arith.sitofp %we : i8 to f32
      %scaled = arith.mulf %number, %scale : f32
      %product = arith.mulf %xf, %scaled : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}

// -----

// Floats of 8 bits of another type.
// CHECK-LABEL: ark.kernel @otherFloats
// CHECK-NOT: @body_custom_stream
#x = affine_map<(m, n, k) -> (m, k)>
#w = affine_map<(m, n, k) -> (n, k)>
#s = affine_map<(m, n, k) -> (n, 0)>
#y = affine_map<(m, n, k) -> (m, n)>
ark.program @otherFloats(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x1024xf8E5M2> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x1xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xf32> {ark.name = "y"}) {
  %0 = ark.custom grid [4] ins(%x[#ark.region<(d0) -> (0, 0), [1, 1024]>] : tensor<1x1024xbf16>, %w[#ark.region<(d0) -> (d0 * 16, 0), [16, 1024]>] : tensor<64x1024xf8E5M2>, %s[#ark.region<(d0) -> (d0 * 16, 0), [16, 1]>] : tensor<64x1xf32>)
      out <(d0) -> (0, d0 * 16), [1, 16]> {
  ^bb0(%i: index, %a: tensor<1x1024xbf16>, %b: tensor<16x1024xf8E5M2>, %c: tensor<16x1xf32>, %o: tensor<1x16xf32>):
    %none = arith.constant 0.0 : f32
    %zeros = linalg.fill ins(%none : f32) outs(%o : tensor<1x16xf32>) -> tensor<1x16xf32>
    %r = linalg.generic {indexing_maps = [#x, #w, #s, #y], iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b, %c : tensor<1x1024xbf16>, tensor<16x1024xf8E5M2>, tensor<16x1xf32>) outs(%zeros : tensor<1x16xf32>) {
    ^bb0(%xe: bf16, %we: f8E5M2, %scale: f32, %sum: f32):
      %xf = arith.extf %xe : bf16 to f32
      %number = arith.extf %we : f8E5M2 to f32
      %scaled = arith.mulf %number, %scale : f32
      %product = arith.mulf %xf, %scaled : f32
      %next = arith.addf %sum, %product : f32
      linalg.yield %next : f32
    } -> tensor<1x16xf32>
    ark.yield %r : tensor<1x16xf32>
  } : tensor<1x64xf32>
  ark.return %0 : tensor<1x64xf32>
}
