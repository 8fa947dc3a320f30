// RUN: ark-opt %s --split-input-file --verify-diagnostics

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The map of the scale is missing.
func.func @row_norm_c1_missing(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  // expected-error @below {{needs one map for every operand (row_norm_c1)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The map of the input has a result too few.
func.func @row_norm_c1_results(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  // expected-error @below {{needs maps from 2 loops to the dimensions of each operand (row_norm_c1)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#rows, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The result is transposed.
func.func @row_norm_c2(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  // expected-error @below {{needs the map affine_map<(d0, d1) -> (d0, d1)> for operand 1 (row_norm_c2)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, affine_map<(r, c) -> (c, r)>, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// There is a scale for each column.
func.func @row_norm_c2_scale(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  // expected-error @below {{needs the map affine_map<(d0, d1) -> (d0)> for operand 2 (row_norm_c2)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, affine_map<(r, c) -> (c)>] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The number of columns is dynamic.
func.func @row_norm_c3(%x: memref<4x?xf32>, %y: memref<4x?xf32>, %s: memref<4xf32>) {
  // expected-error @below {{needs a static, positive number of columns (row_norm_c3)}}
  ark.row_norm ins(%x : memref<4x?xf32>) outs(%y : memref<4x?xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The input has fewer columns than the result.
func.func @row_norm_c4(%x: memref<4x32xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  // expected-error @below {{has the extents 32 and 64 for loop 1 (row_norm_c4)}}
  ark.row_norm ins(%x : memref<4x32xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The mean is rounded.
func.func @row_norm_c5(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %m: memref<4xf16>, %s: memref<4xf32>) {
  // expected-error @below {{needs a scale and a mean of one float type (row_norm_c5)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) mean(%m : memref<4xf16>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The prologue lacks its argument.
func.func @row_norm_c6_argument(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  // expected-error @below {{needs region 0 with arguments of the types 'f32' (row_norm_c6)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  %zero = arith.constant 0.0 : f32
    ark.yield %zero : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The epilogue lacks the normalised number.
func.func @row_norm_c6_normalised(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  // expected-error @below {{needs region 1 with arguments of the types 'f32', 'f32' (row_norm_c6)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The epilogue does not convert.
func.func @row_norm_c6_yield(%x: memref<4x64xf32>, %y: memref<4x64xbf16>, %s: memref<4xf32>) {
  // expected-error @below {{needs region 1 to yield 'bf16' (row_norm_c6)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xbf16>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The epilogue loads.
func.func @row_norm_c6_memory(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    %c0 = arith.constant 0 : index
    // expected-error @below {{accesses memory in a norm (row_norm_c6)}}
    %loaded = memref.load %s[%c0] : memref<4xf32>
    ark.yield %loaded : f32
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The scale is a tensor.
func.func @row_norm_c7(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: tensor<4xf32>) {
  // expected-error @below {{needs tensors and a result for each out, or buffers and no results (row_norm_c7)}}
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : tensor<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}
