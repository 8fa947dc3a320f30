// RUN: ark-opt %s --ark-expand-attention-gradients --mlir-print-local-scope | FileCheck %s

#left = affine_map<(r, o, d, c, b) -> (r, d)>
#right = affine_map<(r, o, d, c, b) -> (o, d)>
#left_slope = affine_map<(r, o, d, c, b) -> (r, c)>
#right_slope = affine_map<(r, o, d, c, b) -> (o, c)>
#row = affine_map<(r, o, d, c, b) -> (r)>
#pair = affine_map<(r, o, d, c, b) -> (r, o)>
#block = affine_map<(r, o, d, c, b) -> (r, b)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @queries, operands = 0 : i64}, {function = @rest, operands = 0 : i64}, {function = @keys, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// Blocks of 4 keys fill 16 keys. An index of the region is that of the whole loop.
// CHECK-LABEL: func.func private @queries(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x8xf32>, %[[K:[a-z0-9]+]]: memref<16x8xf32>, %[[G:[a-z0-9]+]]: memref<2x6xf32>, %[[V:[a-z0-9]+]]: memref<16x6xf32>, %[[S:[a-z0-9]+]]: memref<2xf32>, %[[M:[a-z0-9]+]]: memref<2xf32>
// CHECK-SAME: %[[DQ:[a-z0-9]+]]: memref<2x8xf32>, %[[W:[a-z0-9]+]]: memref<2x4xf32>, %[[T:[a-z0-9]+]]: memref<2x4xf32>
// CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[DQ]] :
// CHECK: scf.for %[[BEGIN:.+]] = %{{.+}} to %{{.+}} step %{{.+}} {
// CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[W]] :
// CHECK: %[[KEYS:.+]] = memref.subview %[[K]][%[[BEGIN]], 0] [4, 8] [1, 1]
// CHECK: linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%[[Q]], %[[KEYS]] : {{.*}} outs(%[[W]] :
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%[[S]] : {{.*}} outs(%[[W]] :
// CHECK-NEXT: ^bb0(%[[TOTAL:.+]]: f32, %[[DOT:.+]]: f32):
// CHECK: %[[COLUMN:.+]] = linalg.index 1
// CHECK: %[[KEY:.+]] = arith.addi %[[COLUMN]], %[[BEGIN]]
// CHECK: arith.index_cast %[[KEY]]
// CHECK: %[[SCORE:.+]] = arith.addf %[[DOT]],
// CHECK: %[[DIFFERENCE:.+]] = arith.subf %[[SCORE]], %[[TOTAL]]
// CHECK: math.exp %[[DIFFERENCE]]
// CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[T]] :
// CHECK: %[[VALUES:.+]] = memref.subview %[[V]][%[[BEGIN]], 0] [4, 6] [1, 1]
// CHECK: linalg.contract {{.*}} ins(%[[G]], %[[VALUES]] : {{.*}} outs(%[[T]] :
// A hidden pair has no share, even if its slope is NaN.
// CHECK: linalg.generic {{.*}} ins(%[[W]], %[[M]] : {{.*}} outs(%[[T]] :
// CHECK-NEXT: ^bb0(%[[WEIGHT:.+]]: f32, %[[MEAN:.+]]: f32, %[[SLOPE:.+]]: f32):
// CHECK: %[[HIDDEN:.+]] = arith.cmpf oeq, %[[WEIGHT]], %[[ZERO:.+]] : f32
// CHECK: %[[CENTRED:.+]] = arith.subf %[[SLOPE]], %[[MEAN]]
// CHECK: %[[SHARE:.+]] = arith.mulf %[[WEIGHT]], %[[CENTRED]]
// CHECK: arith.select %[[HIDDEN]], %[[ZERO]], %[[SHARE]]
// CHECK: %[[AGAIN:.+]] = memref.subview %[[K]][%[[BEGIN]], 0] [4, 8] [1, 1]
// CHECK: linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%[[T]], %[[AGAIN]] : {{.*}} outs(%[[DQ]] :
// CHECK-NOT: scf.for
// CHECK: return
func.func private @queries(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<2x8xf32>, %k: memref<16x8xf32>, %g: memref<2x6xf32>, %v: memref<16x6xf32>, %s: memref<2xf32>, %m: memref<2xf32>,
    %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %m : memref<2x8xf32>, memref<16x8xf32>, memref<2x6xf32>, memref<16x6xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    %number = arith.index_cast %key : index to i32
    %bias = arith.sitofp %number : i32 to f32
    %score = arith.addf %dot, %bias : f32
    ark.yield %score : f32
  }
  return
}

// The last block is partial if the number of keys is dynamic.
// CHECK-LABEL: func.func private @rest(
// CHECK: %[[ALL:.+]] = memref.dim %[[K:.+]], %{{.+}} : memref<?x8xf32>
// CHECK: %[[WHOLE:.+]] = affine.apply affine_map<()[s0] -> ((s0 floordiv 4) * 4)>()[%[[ALL]]]
// CHECK: %[[REST:.+]] = affine.apply affine_map<()[s0] -> (s0 mod 4)>()[%[[ALL]]]
// CHECK: scf.for %{{.+}} = %{{.+}} to %[[WHOLE]] step
// CHECK: linalg.generic {{.*}} ins(%{{.+}}, %{{.+}} : memref<2xf32>, memref<2x4xi1, {{.*}}>) outs(
// CHECK: scf.for %[[LAST:.+]] = %[[WHOLE]] to %[[ALL]] step
// CHECK: memref.subview %{{.+}}[0, 0] [2, %[[REST]]] [1, 1] : memref<2x4xf32>
// CHECK: memref.subview %[[K]][%[[LAST]], 0] [%[[REST]], 8] [1, 1]
func.func private @rest(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<2x8xf32>, %k: memref<?x8xf32>, %g: memref<2x6xf32>, %v: memref<?x6xf32>, %s: memref<2xf32>, %m: memref<2x?xi1>,
    %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>, %least: f32) {
  ark.blocked_attention_gradient
      ins(%q, %k, %g, %v, %s, %s : memref<2x8xf32>, memref<?x8xf32>, memref<2x6xf32>, memref<?x6xf32>, memref<2xf32>, memref<2xf32>)
      mask(%m : memref<2x?xi1>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #pair, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32, %keep: i1):
    %score = arith.select %keep, %dot, %least : f32
    ark.yield %score : f32
  }
  return
}

// Both gradients add up over all heads.
// CHECK-LABEL: func.func private @keys(
// CHECK-SAME: %[[K:[a-z0-9]+]]: memref<16x8xf32>, %[[Q:[a-z0-9]+]]: memref<3x8x8xf32>, %{{.+}}: memref<16x6xf32>, %[[G:[a-z0-9]+]]: memref<3x8x6xf32>, %[[S:[a-z0-9]+]]: memref<3x8xf32>, %[[DK:[a-z0-9]+]]: memref<16x8xf32>, %[[DV:[a-z0-9]+]]: memref<16x6xf32>, %[[W:[a-z0-9]+]]: memref<16x4xf32>, %[[T:[a-z0-9]+]]: memref<16x4xf32>
// CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[DK]] :
// CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[DV]] :
// CHECK: scf.for %[[HEAD:.+]] = %{{.+}} to %{{.+}} step %{{.+}} {
// CHECK: scf.for %[[BEGIN:.+]] = %{{.+}} to %{{.+}} step %{{.+}} {
// CHECK: %[[QUERIES:.+]] = memref.subview %[[Q]][%[[HEAD]], %[[BEGIN]], 0] [1, 4, 8] [1, 1, 1]
// CHECK: linalg.contract {{.*}} ins(%[[K]], %[[QUERIES]] : {{.*}} outs(%[[W]] :
// CHECK: %[[TOTALS:.+]] = memref.subview %[[S]][%[[HEAD]], %[[BEGIN]]] [1, 4] [1, 1]
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], {{.*}}} ins(%[[TOTALS]] :
// CHECK: linalg.generic {{.*}} outs(%[[T]] :
// CHECK: %[[COTANGENTS:.+]] = memref.subview %[[G]][%[[HEAD]], %[[BEGIN]], 0] [1, 4, 6] [1, 1, 1]
// CHECK: linalg.contract {{.*}} ins(%[[W]], %[[COTANGENTS]] : {{.*}} outs(%[[DV]] :
// CHECK: linalg.contract {{.*}} ins(%[[T]], %{{.+}} : {{.*}} outs(%[[DK]] :
// CHECK-NOT: ark.blocked_attention_gradient
func.func private @keys(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %k: memref<16x8xf32>, %q: memref<3x8x8xf32>, %v: memref<16x6xf32>, %g: memref<3x8x6xf32>, %s: memref<3x8xf32>,
    %dk: memref<16x8xf32>, %dv: memref<16x6xf32>, %w: memref<16x4xf32>, %t: memref<16x4xf32>) {
  ark.blocked_attention_gradient
      ins(%k, %q, %v, %g, %s, %s : memref<16x8xf32>, memref<3x8x8xf32>, memref<16x6xf32>, memref<3x8x6xf32>, memref<3x8xf32>, memref<3x8xf32>)
      outs(%dk : memref<16x8xf32>) value_gradient(%dv : memref<16x6xf32>) memory(%w, %t : memref<16x4xf32>, memref<16x4xf32>)
      maps [affine_map<(r, h, o, d, c, b) -> (r, d)>, affine_map<(r, h, o, d, c, b) -> (h, o, d)>,
            affine_map<(r, h, o, d, c, b) -> (r, c)>, affine_map<(r, h, o, d, c, b) -> (h, o, c)>,
            affine_map<(r, h, o, d, c, b) -> (h, o)>, affine_map<(r, h, o, d, c, b) -> (h, o)>,
            affine_map<(r, h, o, d, c, b) -> (r, d)>, affine_map<(r, h, o, d, c, b) -> (r, c)>,
            affine_map<(r, h, o, d, c, b) -> (r, b)>, affine_map<(r, h, o, d, c, b) -> (r, b)>] {
  ^bb0(%key: index, %head: index, %query: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}

// Other functions keep the op.
// CHECK-LABEL: func.func private @other(
// CHECK: ark.blocked_attention_gradient
func.func private @other(%q: memref<2x8xf32>, %k: memref<16x8xf32>, %s: memref<2xf32>, %dq: memref<2x8xf32>, %w: memref<2x4xf32>, %t: memref<2x4xf32>) {
  ark.blocked_attention_gradient
      ins(%q, %k, %q, %k, %s, %s : memref<2x8xf32>, memref<16x8xf32>, memref<2x8xf32>, memref<16x8xf32>, memref<2xf32>, memref<2xf32>)
      outs(%dq : memref<2x8xf32>) memory(%w, %t : memref<2x4xf32>, memref<2x4xf32>)
      maps [#left, #right, #left_slope, #right_slope, #row, #row, #left, #block, #block] {
  ^bb0(%row: index, %key: index, %dot: f32):
    ark.yield %dot : f32
  }
  return
}
