// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-verify-memory))' --verify-diagnostics

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The weight has fewer elements than a row.
ark.program @normBeyondTheWeight(%x: memref<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) attributes {shared_memory = 4096 : i64} {
  ^bb0(%i: index, %a: memref<4x64xf32, strided<[64, 1], offset: ?>>, %o: memref<4x64xf32, strided<[64, 1], offset: ?>>):
    %s = memref.alloca() : memref<4xf32>
    %few = memref.subview %a[0, 0] [1, 32] [1, 1] : memref<4x64xf32, strided<[64, 1], offset: ?>> to memref<32xf32, strided<[1], offset: ?>>
    %any = memref.cast %few : memref<32xf32, strided<[1], offset: ?>> to memref<?xf32, strided<[1], offset: ?>>
    // expected-error @below {{may leave 'memref<?xf32, strided<[1], offset: ?>>' in dimension 0}}
    ark.row_norm ins(%a, %any : memref<4x64xf32, strided<[64, 1], offset: ?>>, memref<?xf32, strided<[1], offset: ?>>) outs(%o : memref<4x64xf32, strided<[64, 1], offset: ?>>) scale(%s : memref<4xf32>)
        eps = 1.0e-5 maps [#all, affine_map<(r, c) -> (c)>, #all, #rows] prologue {
    ^bb1(%element: f32, %factor: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32, %factor: f32):
      %product = arith.mulf %normalised, %factor : f32
      ark.yield %product : f32
    }
    ark.yield
  }
  ark.return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The scales are a part of the result.
ark.program @normWhoseScaleIsPartOfTheResult(%x: memref<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) attributes {shared_memory = 4096 : i64} {
  ^bb0(%i: index, %a: memref<4x64xf32, strided<[64, 1], offset: ?>>, %o: memref<4x64xf32, strided<[64, 1], offset: ?>>):
    %s = memref.alloca() : memref<4xf32>
    %part = memref.subview %o[0, 0] [1, 4] [1, 1] : memref<4x64xf32, strided<[64, 1], offset: ?>> to memref<4xf32, strided<[1], offset: ?>>
    // expected-error @below {{writes the memory of operand 2}}
    ark.row_norm ins(%a : memref<4x64xf32, strided<[64, 1], offset: ?>>) outs(%o : memref<4x64xf32, strided<[64, 1], offset: ?>>) scale(%part : memref<4xf32, strided<[1], offset: ?>>)
        eps = 1.0e-5 maps [#all, #all, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      ark.yield %normalised : f32
    }
    ark.yield
  }
  ark.return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The op reads the rows in another order than it writes them.
ark.program @normThatOverwritesOtherRows(%x: memref<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) attributes {shared_memory = 4096 : i64} {
  ^bb0(%i: index, %a: memref<4x64xf32, strided<[64, 1], offset: ?>>, %o: memref<4x64xf32, strided<[64, 1], offset: ?>>):
    %s = memref.alloca() : memref<4xf32>
    %one = arith.constant 1.0 : f32
    linalg.fill ins(%one : f32) outs(%o : memref<4x64xf32, strided<[64, 1], offset: ?>>)
    // expected-error @below {{writes the memory of operand 0}}
    ark.row_norm ins(%o : memref<4x64xf32, strided<[64, 1], offset: ?>>) outs(%o : memref<4x64xf32, strided<[64, 1], offset: ?>>) scale(%s : memref<4xf32>)
        eps = 1.0e-5 maps [affine_map<(r, c) -> (-r + 3, c)>, #all, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      ark.yield %normalised : f32
    }
    ark.yield
  }
  ark.return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// The contents of the scale are unspecified after the op.
ark.program @normWhoseScaleIsRead(%x: memref<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %y: memref<4x64xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "t" grid [1] ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) outs(%y[#ark.region<(d0) -> (0, 0), [4, 64]>] : memref<4x64xf32>) attributes {shared_memory = 4096 : i64} {
  ^bb0(%i: index, %a: memref<4x64xf32, strided<[64, 1], offset: ?>>, %o: memref<4x64xf32, strided<[64, 1], offset: ?>>):
    %s = memref.alloca() : memref<4xf32>
    %t = memref.alloca() : memref<4xf32>
    ark.row_norm ins(%a : memref<4x64xf32, strided<[64, 1], offset: ?>>) outs(%o : memref<4x64xf32, strided<[64, 1], offset: ?>>) scale(%s : memref<4xf32>)
        eps = 1.0e-5 maps [#all, #all, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      ark.yield %normalised : f32
    }
    // expected-error @below {{reads a temporary that no structured op has filled before}}
    linalg.copy ins(%s : memref<4xf32>) outs(%t : memref<4xf32>)
    ark.yield
  }
  ark.return
}
