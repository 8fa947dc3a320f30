// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(ark.program(ark-bufferize-program,ark.task(ark-bufferize-bodies,cse,canonicalize),lower-affine,ark.task(ark-place-temporaries),ark-plan-arena,ark-verify-memory))' | FileCheck %s

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>

// Nothing is copied: the op overwrites its outs. The scale is a temporary.
// CHECK-LABEL: ark.program @outsAreOverwritten
// CHECK: ark.task "t" grid [1] {{.*}}shared_memory = 64
// CHECK: ^bb0(%{{.+}}: index, %[[X:[a-z0-9]+]]: memref<4x64xf32, {{[^%]+}}%[[O:[a-z0-9]+]]: memref<4x64xf32
// CHECK: %[[S:.+]] = memref.alloca() {{.*}} : memref<4xf32>
// CHECK-NOT: linalg.copy
// CHECK: ark.row_norm ins(%[[X]] : {{.*}} outs(%[[O]] : {{.*}} scale(%[[S]] : memref<4xf32>)
// CHECK-NOT: linalg.copy
// CHECK: ark.yield
ark.program @outsAreOverwritten(%x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4x64xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4x64xf32>
  %0 = ark.task "t" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : tensor<4x64xf32>)
      outs(%e[#ark.region<(d0) -> (0, 0), [4, 64]>] : tensor<4x64xf32>) {
  ^bb0(%i: index, %a: tensor<4x64xf32>, %o: tensor<4x64xf32>):
    %s = tensor.empty() : tensor<4xf32>
    %1:2 = ark.row_norm ins(%a : tensor<4x64xf32>) outs(%o : tensor<4x64xf32>) scale(%s : tensor<4xf32>)
        eps = 1.0e-5 maps [#all, #all, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      ark.yield %normalised : f32
    } -> tensor<4x64xf32>, tensor<4xf32>
    ark.yield %1#0 : tensor<4x64xf32>
  } : tensor<4x64xf32>
  ark.return %0 : tensor<4x64xf32>
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>

// The normalised rows take the memory of the rows, which no later op reads.
// CHECK-LABEL: ark.program @rowsAreOverwritten
// CHECK: %[[ROWS:.+]] = memref.alloca() {{.*}} : memref<4x64xf32>
// CHECK-NOT: memref.alloca() {{.*}} : memref<4x64xf32>
// CHECK: ark.row_norm ins(%[[ROWS]] : memref<4x64xf32>) outs(%[[ROWS]] : memref<4x64xf32>)
ark.program @rowsAreOverwritten(%x: tensor<4x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) -> (tensor<4xf32> {ark.name = "y"}) {
  %e = tensor.empty() : tensor<4xf32>
  %0 = ark.task "t" grid [1]
      ins(%x[#ark.region<(d0) -> (0, 0), [4, 64]>] : tensor<4x64xf32>)
      outs(%e[#ark.region<(d0) -> (0), [4]>] : tensor<4xf32>) {
  ^bb0(%i: index, %a: tensor<4x64xf32>, %o: tensor<4xf32>):
    %zero = arith.constant 0.0 : f32
    %r = tensor.empty() : tensor<4x64xf32>
    %1 = linalg.exp ins(%a : tensor<4x64xf32>) outs(%r : tensor<4x64xf32>) -> tensor<4x64xf32>
    %y = tensor.empty() : tensor<4x64xf32>
    %s = tensor.empty() : tensor<4xf32>
    %2:2 = ark.row_norm ins(%1 : tensor<4x64xf32>) outs(%y : tensor<4x64xf32>) scale(%s : tensor<4xf32>)
        eps = 1.0e-5 maps [#all, #all, #rows] prologue {
    ^bb1(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb1(%normalised: f32, %element: f32):
      ark.yield %normalised : f32
    } -> tensor<4x64xf32>, tensor<4xf32>
    %3 = linalg.fill ins(%zero : f32) outs(%o : tensor<4xf32>) -> tensor<4xf32>
    %4 = linalg.reduce ins(%2#0 : tensor<4x64xf32>) outs(%3 : tensor<4xf32>) dimensions = [1]
      (%in: f32, %out: f32) {
        %sum = arith.addf %in, %out : f32
        linalg.yield %sum : f32
      }
    ark.yield %4 : tensor<4xf32>
  } : tensor<4xf32>
  ark.return %0 : tensor<4xf32>
}
