// RUN: ark-opt %s --verify-roundtrip | ark-opt | FileCheck %s

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
#columns = affine_map<(r, c) -> (c)>

// CHECK-LABEL: func.func @rmsNormOfTensors
func.func @rmsNormOfTensors(%x: tensor<4x64xbf16>, %w: tensor<64xbf16>, %y: tensor<4x64xbf16>, %s: tensor<4xf32>) -> tensor<4x64xbf16> {
  // CHECK: %[[R:.+]]:2 = ark.row_norm ins(%{{.+}}, %{{.+}} : tensor<4x64xbf16>, tensor<64xbf16>) outs(%{{.+}} : tensor<4x64xbf16>) scale(%{{.+}} : tensor<4xf32>) eps = 1.000000e-05 maps [
  // CHECK-SAME: ] prologue {
  // CHECK-NEXT: ^bb0(%[[X:.+]]: bf16, %{{.+}}: bf16):
  // CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[X]] : bf16 to f32
  // CHECK-NEXT: ark.yield %[[WIDE]] : f32
  // CHECK-NEXT: } epilogue {
  // CHECK-NEXT: ^bb0(%[[N:.+]]: f32, %{{.+}}: bf16, %[[W:.+]]: bf16):
  // CHECK: } -> tensor<4x64xbf16>, tensor<4xf32>
  %0:2 = ark.row_norm ins(%x, %w : tensor<4x64xbf16>, tensor<64xbf16>) outs(%y : tensor<4x64xbf16>) scale(%s : tensor<4xf32>)
      eps = 1.0e-5 maps [#all, #columns, #all, #rows] prologue {
  ^bb0(%element: bf16, %factor: bf16):
    %number = arith.extf %element : bf16 to f32
    ark.yield %number : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: bf16, %factor: bf16):
    %wide = arith.extf %factor : bf16 to f32
    %product = arith.mulf %normalised, %wide : f32
    %narrow = arith.truncf %product : f32 to bf16
    ark.yield %narrow : bf16
  } -> tensor<4x64xbf16>, tensor<4xf32>
  return %0#0 : tensor<4x64xbf16>
}

// The number of rows is dynamic.
// CHECK-LABEL: func.func @layerNormOfBuffers
func.func @layerNormOfBuffers(%x: memref<?x64xf32>, %y: memref<?x64xf32>, %m: memref<?xf32>, %s: memref<?xf32>) {
  // CHECK: ark.row_norm ins(%{{.+}} : memref<?x64xf32>) outs(%{{.+}} : memref<?x64xf32>) mean(%{{.+}} : memref<?xf32>) scale(%{{.+}} : memref<?xf32>) eps =
  // CHECK: {{^ *}}}{{$}}
  ark.row_norm ins(%x : memref<?x64xf32>) outs(%y : memref<?x64xf32>) mean(%m : memref<?xf32>) scale(%s : memref<?xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

#vector = affine_map<(c) -> (c)>
#number = affine_map<(c) -> ()>

// A vector is one row, without a loop over rows.
// CHECK-LABEL: func.func @rmsNormOfAVector
func.func @rmsNormOfAVector(%x: tensor<64xf32>, %y: tensor<64xf32>, %s: tensor<f32>) -> tensor<64xf32> {
  // CHECK: ark.row_norm ins(%{{.+}} : tensor<64xf32>) outs(%{{.+}} : tensor<64xf32>) scale(%{{.+}} : tensor<f32>)
  %0:2 = ark.row_norm ins(%x : tensor<64xf32>) outs(%y : tensor<64xf32>) scale(%s : tensor<f32>)
      eps = 1.0e-5 maps [#vector, #vector, #number] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  } -> tensor<64xf32>, tensor<f32>
  return %0#0 : tensor<64xf32>
}
