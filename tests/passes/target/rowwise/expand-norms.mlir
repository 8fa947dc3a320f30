// RUN: ark-opt %s --split-input-file --ark-expand-norms --mlir-print-local-scope | FileCheck %s

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
#columns = affine_map<(r, c) -> (c)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// Each op that reads the row converts it. The conversion of the weight precedes the normalised number.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[X:[a-z0-9]+]]: memref<4x64xbf16>, %[[W:[a-z0-9]+]]: memref<64xbf16>, %[[Y:[a-z0-9]+]]: memref<4x64xbf16>, %[[S:[a-z0-9]+]]: memref<4xf32>
// CHECK: %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT: linalg.fill ins(%[[ZERO]] : f32) outs(%[[S]] :
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]} ins(%[[X]] : {{.*}} outs(%[[S]] :
// CHECK-NEXT: ^bb0(%[[IN:.+]]: bf16, %[[OLD:.+]]: f32):
// CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[IN]]
// CHECK-NEXT: %[[SQUARE:.+]] = arith.mulf %[[WIDE]], %[[WIDE]]
// CHECK-NEXT: %[[SUM:.+]] = arith.addf %[[SQUARE]], %[[OLD]]
// CHECK-NEXT: linalg.yield %[[SUM]]
// CHECK: %[[COUNT:.+]] = arith.constant 6.400000e+01 : f32
// CHECK-NEXT: %[[EPS:.+]] = arith.constant 9.99999974E-6 : f32
// CHECK-NEXT: linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]} outs(%[[S]] :
// CHECK-NEXT: ^bb0(%[[TOTAL:.+]]: f32):
// CHECK-NEXT: %[[MEAN:.+]] = arith.divf %[[TOTAL]], %[[COUNT]]
// CHECK-NEXT: %[[SHIFTED:.+]] = arith.addf %[[MEAN]], %[[EPS]]
// CHECK-NEXT: math.rsqrt %[[SHIFTED]]
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[S]], %[[W]] : {{.*}} outs(%[[Y]] :
// CHECK-NEXT: ^bb0(%[[IN:.+]]: bf16, %[[SCALE:.+]]: f32, %[[FACTOR:.+]]: bf16, %{{.+}}: bf16):
// CHECK-NEXT: %[[F:.+]] = arith.extf %[[FACTOR]]
// CHECK-NEXT: %[[WIDE:.+]] = arith.extf %[[IN]]
// CHECK-NEXT: %[[N:.+]] = arith.mulf %[[WIDE]], %[[SCALE]]
// CHECK-NEXT: %[[P:.+]] = arith.mulf %[[N]], %[[F]]
// CHECK-NEXT: %[[R:.+]] = arith.truncf %[[P]]
// CHECK-NEXT: linalg.yield %[[R]]
// CHECK-NOT: ark.row_norm
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<4x64xbf16>, %w: memref<64xbf16>, %y: memref<4x64xbf16>, %s: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    ark.row_norm ins(%x, %w : memref<4x64xbf16>, memref<64xbf16>) outs(%y : memref<4x64xbf16>) scale(%s : memref<4xf32>)
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
    }
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// The squares are those of differences from the mean. Inputs keep their order: the residual comes before the row.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[RESIDUAL:[a-z0-9]+]]: memref<4x64xf32>, %[[X:[a-z0-9]+]]: memref<4x64xf32>, %[[Y:[a-z0-9]+]]: memref<4x64xf32>, %[[M:[a-z0-9]+]]: memref<4xf32>, %[[S:[a-z0-9]+]]: memref<4xf32>
// CHECK: linalg.fill {{.*}} outs(%[[M]] :
// CHECK: linalg.generic {{.*}} ins(%[[X]] : {{.*}} outs(%[[M]] :
// CHECK: linalg.generic {{.*}} outs(%[[M]] :
// CHECK: arith.divf
// CHECK-NEXT: linalg.yield
// CHECK: linalg.fill {{.*}} outs(%[[S]] :
// CHECK: linalg.generic {{.*}} ins(%[[X]], %[[M]] : {{.*}} outs(%[[S]] :
// CHECK-NEXT: ^bb0(%[[IN:.+]]: f32, %[[MEAN:.+]]: f32, %{{.+}}: f32):
// CHECK-NEXT: %[[CENTRED:.+]] = arith.subf %[[IN]], %[[MEAN]]
// CHECK-NEXT: arith.mulf %[[CENTRED]], %[[CENTRED]]
// CHECK: linalg.generic {{.*}} outs(%[[S]] :
// CHECK: math.rsqrt
// CHECK: linalg.generic {{.*}} ins(%[[RESIDUAL]], %[[X]], %[[M]], %[[S]] : {{.*}} outs(%[[Y]] :
// CHECK-NEXT: ^bb0(%[[OTHER:.+]]: f32, %[[IN:.+]]: f32, %[[MEAN:.+]]: f32, %[[SCALE:.+]]: f32, %{{.+}}: f32):
// CHECK-NEXT: %[[CENTRED:.+]] = arith.subf %[[IN]], %[[MEAN]]
// CHECK-NEXT: %[[N:.+]] = arith.mulf %[[CENTRED]], %[[SCALE]]
// CHECK-NEXT: arith.addf %[[OTHER]], %[[N]]
// CHECK-NOT: ark.row_norm
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %residual: memref<4x64xf32>, %x: memref<4x64xf32>, %y: memref<4x64xf32>, %m: memref<4xf32>, %s: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    ark.row_norm ins(%residual, %x : memref<4x64xf32>, memref<4x64xf32>) outs(%y : memref<4x64xf32>)
        mean(%m : memref<4xf32>) scale(%s : memref<4xf32>) eps = 1.0e-5 maps [#all, #all, #all, #rows, #rows] prologue {
    ^bb0(%other: f32, %element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb0(%normalised: f32, %other: f32, %element: f32):
      %sum = arith.addf %other, %normalised : f32
      ark.yield %sum : f32
    }
  }
  return
}

// -----

#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// An epilogue that ignores the normalised number still computes the scale, whose contents no other op reads.
// CHECK-LABEL: func.func private @body(
// CHECK: math.rsqrt
// CHECK: linalg.generic
// CHECK-NEXT: ^bb0(%[[IN:.+]]: f32, %{{.+}}: f32, %{{.+}}: f32):
// CHECK-NEXT: linalg.yield %[[IN]]
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
        eps = 1.0e-5 maps [#all, #all, #rows] prologue {
    ^bb0(%element: f32):
      ark.yield %element : f32
    } epilogue {
    ^bb0(%normalised: f32, %element: f32):
      ark.yield %element : f32
    }
  }
  return
}

// -----

// Functions that are not bodies of the kernel keep their norms.
#all = affine_map<(r, c) -> (r, c)>
#rows = affine_map<(r, c) -> (r)>
// CHECK-LABEL: func.func private @other(
// CHECK: ark.row_norm
func.func private @other(%x: memref<4x64xf32>, %y: memref<4x64xf32>, %s: memref<4xf32>) {
  ark.row_norm ins(%x : memref<4x64xf32>) outs(%y : memref<4x64xf32>) scale(%s : memref<4xf32>)
      eps = 1.0e-5 maps [#all, #all, #rows] prologue {
  ^bb0(%element: f32):
    ark.yield %element : f32
  } epilogue {
  ^bb0(%normalised: f32, %element: f32):
    ark.yield %normalised : f32
  }
  return
}
