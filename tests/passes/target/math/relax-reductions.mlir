// RUN: ark-opt %s --split-input-file --pass-pipeline='builtin.module(func.func(ark-relax-reductions))' | FileCheck %s

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @sum
// CHECK: arith.addf %{{.+}}, %{{.+}} fastmath<reassoc,contract> : f32
func.func @sum(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %in, %acc : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// A product may be contracted into the sum (fma), but not reassociated.
// CHECK-LABEL: func.func @sumOfSquares
// CHECK: %[[SQUARE:.+]] = arith.mulf %{{.+}}, %{{.+}} fastmath<contract> : f32
// CHECK: arith.addf %{{.+}}, %[[SQUARE]] fastmath<reassoc,contract> : f32
func.func @sumOfSquares(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %acc, %0 : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @product
// CHECK: arith.mulf %{{.+}}, %{{.+}} fastmath<reassoc,contract> : f32
func.func @product(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.mulf %in, %acc : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// Existing fast-math flags stay.
// CHECK-LABEL: func.func @flagsAreAdded
// CHECK: arith.addf %{{.+}}, %{{.+}} fastmath<reassoc,nnan,contract> : f32
func.func @flagsAreAdded(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %in, %acc fastmath<nnan> : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// The op has two results, and the second one is not a sum.
// CHECK-LABEL: func.func @sumAndMaximum
// CHECK: arith.addf %{{.+}}, %{{.+}} fastmath<reassoc,contract> : f32
// CHECK: arith.maximumf %{{[^ ]+}}, %{{[^ ]+}} : f32
func.func @sumAndMaximum(%x: memref<4x8xf32>, %y: memref<4xf32>, %z: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%y, %z : memref<4xf32>, memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32, %max: f32):
    %0 = arith.addf %in, %acc : f32
    %1 = arith.maximumf %in, %max : f32
    linalg.yield %0, %1 : f32, f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// CHECK-LABEL: func.func @integersNeedNoLeave
// CHECK-NOT: fastmath
func.func @integersNeedNoLeave(%x: memref<4x8xi32>, %y: memref<4xi32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xi32>) outs(%y : memref<4xi32>) {
  ^bb0(%in: i32, %acc: i32):
    %0 = arith.addi %in, %acc : i32
    linalg.yield %0 : i32
  }
  return
}

// -----

#id = affine_map<(d0) -> (d0)>

// Without a reduction, the sum keeps its order.
// CHECK-LABEL: func.func @elementwise
// CHECK-NOT: fastmath
func.func @elementwise(%x: memref<8xf32>, %y: memref<8xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : memref<8xf32>) outs(%y : memref<8xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.mulf %in, %in : f32
    %1 = arith.addf %0, %acc : f32
    linalg.yield %1 : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// Arithmetic outside of the reduction keeps its order and its roundings.
// CHECK-LABEL: func.func @sumOfDifferences
// CHECK: arith.addf %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: arith.mulf %{{[^ ]+}}, %{{[^ ]+}} : f32
// CHECK: math.exp %{{[^ ]+}} : f32
// CHECK: arith.addf %{{.+}}, %{{.+}} fastmath<reassoc,contract> : f32
func.func @sumOfDifferences(%x: memref<4x8xf32>, %y: memref<4xf32>, %shift: f32) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.addf %in, %shift : f32
    %1 = arith.mulf %0, %shift : f32
    %2 = math.exp %1 : f32
    %3 = arith.addf %2, %acc : f32
    linalg.yield %3 : f32
  }
  return
}

// -----

#in = affine_map<(d0, d1) -> (d0, d1)>
#out = affine_map<(d0, d1) -> (d0)>

// The recurrence acc * in + in is not a sum.
// CHECK-LABEL: func.func @recurrence
// CHECK-NOT: fastmath
func.func @recurrence(%x: memref<4x8xf32>, %y: memref<4xf32>) {
  linalg.generic {indexing_maps = [#in, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<4x8xf32>) outs(%y : memref<4xf32>) {
  ^bb0(%in: f32, %acc: f32):
    %0 = arith.mulf %acc, %in : f32
    %1 = arith.addf %0, %in : f32
    linalg.yield %1 : f32
  }
  return
}
