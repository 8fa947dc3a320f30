// RUN: ark-opt %s --split-input-file --ark-target=cuda:sm_90a --ark-compile-to=kernel | ark-opt --split-input-file --pass-pipeline='builtin.module(func.func(linalg-generalize-named-ops),ark-hoist-invariants,ark-stream-weights)' | FileCheck %s

// The stream function also gets the scales. A row of 512 bytes is one chunk. The scale of the next row is requested
// before the wait for the chunk of this row. The products of a load get the scale after the tensor cores.
// CHECK-LABEL: func.func private @body_quantized_matmul(
// CHECK: call @body_quantized_matmul_stream(%{{.+}}) {ark.cta_collective = 1 : i64}
// CHECK-LABEL: func.func private @body_quantized_matmul_stream(
// CHECK-SAME: memref<1x512xbf16>, %[[SCALES:[^ ]+]]: memref<64x4xf32>, %{{[^ ]+}}: memref<1x
// CHECK: call @ark_stream_open
// CHECK: memref.load %[[SCALES]]
// CHECK: scf.for {{.+}} iter_args({{.+}}, %[[SCALE:[^ ]+]] = %{{[^ ,]+}}) -> ({{.+}}, f32)
// CHECK: %[[NEXT:.+]] = memref.load %[[SCALES]]
// CHECK: call @ark_stream_consumer_wait
// CHECK: nvvm.mma.sync
// CHECK: math.fma %[[SCALE]], %{{.+}}, %{{.+}} : f32
// CHECK: scf.yield {{.+}}, %[[NEXT]]
ark.program @eightBits(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x4xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<1x512xbf16>, tensor<64x512xf8E4M3FN>, tensor<64x4xf32>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// Numbers of 4 bits become the lowest bits of floats of which the same float with the zero is subtracted.
// CHECK-LABEL: func.func private @body_quantized_matmul_stream(
// CHECK-SAME: memref<1x1024xbf16>, %{{[^ ]+}}: memref<64x8xf16>, %[[ZEROS:[^ ]+]]: memref<64x8xi8>
// CHECK: vector.shuffle %[[ROW:.+]], %[[ROW]] [0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15, 16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31] : vector<32xbf16>
// CHECK: %[[MASK:.+]] = arith.constant 983055 : i32
// CHECK: arith.andi %{{.+}}, %[[MASK]]
// CHECK: llvm.fsub %{{.+}}, %{{.+}} : vector<2xbf16>
// CHECK: nvvm.mma.sync
ark.program @fourBits(%x: tensor<1x1024xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x8xf16> {ark.kind = #ark.kind<parameter>, ark.name = "s"},
    %z: tensor<64x8xi8> {ark.kind = #ark.kind<parameter>, ark.name = "z"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.quantized_matmul %x, %w scales %s zeros %z : (tensor<1x1024xbf16>, tensor<64x512xi8>, tensor<64x8xf16>, tensor<64x8xi8>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// The threads of a row of an instruction load 64 elements at once, which have two scales: scalar code multiplies.
// CHECK-LABEL: func.func private @body_quantized_matmul_stream(
// CHECK-NOT: nvvm.mma.sync
// CHECK: math.fma
// CHECK: return
ark.program @smallGroups(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<1x512xbf16>, tensor<64x512xf8E4M3FN>, tensor<64x16xf32>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// A load of 16 elements has two scales, so threads read the weights without a weight ring.
// CHECK-LABEL: ark.kernel @tinyGroups
// CHECK-NOT: body_quantized_matmul_stream
ark.program @tinyGroups(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x64xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %0 = ark.quantized_matmul %x, %w scales %s : (tensor<1x512xbf16>, tensor<64x512xf8E4M3FN>, tensor<64x64xf32>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}

// -----

// Scales that a run computes are no parameter, and the kernel writes them.
// CHECK-LABEL: ark.kernel @computedScales
// CHECK-NOT: body_quantized_matmul_stream
ark.program @computedScales(%x: tensor<1x512xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x512xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<64x4xf32> {ark.kind = #ark.kind<input>, ark.name = "s"}) -> (tensor<1x64xbf16> {ark.name = "y"}) {
  %e = ark.exp %s : (tensor<64x4xf32>) -> tensor<64x4xf32>
  %0 = ark.quantized_matmul %x, %w scales %e : (tensor<1x512xbf16>, tensor<64x512xf8E4M3FN>, tensor<64x4xf32>) -> tensor<1x64xbf16>
  ark.return %0 : tensor<1x64xbf16>
}
