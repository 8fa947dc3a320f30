// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 --ark-expand-attention --mlir-print-local-scope | FileCheck %s

#query = affine_map<(m, n, k, c) -> (m, k)>
#keys = affine_map<(m, n, k, c) -> (n, k)>
#values = affine_map<(m, n, k, c) -> (n, c)>
#product = affine_map<(m, n, k, c) -> (m, c)>
#rows = affine_map<(m, n, k, c) -> (m)>
#scores = affine_map<(m, n, k, c) -> (m, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @body, operands = 0 : i64}, {function = @fast, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// Tensor cores would round f32. The ops have the order in which they use the scores.
// CHECK-LABEL: func.func private @body(
// CHECK-SAME: %[[Q:[a-z0-9]+]]: memref<2x64xf32>, %[[K:[a-z0-9]+]]: memref<?x64xf32>, %[[V:[a-z0-9]+]]: memref<?x64xf32>, %[[MASK:[a-z0-9]+]]: memref<?xi1>
// CHECK-SAME: %[[P:[a-z0-9]+]]: memref<2x64xf32>, %[[M:[a-z0-9]+]]: memref<2xf32>, %[[T:[a-z0-9]+]]: memref<2xf32>, %[[S:[a-z0-9]+]]: memref<2x?xf32>
// CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[S]] :
// CHECK: linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%[[Q]], %[[K]] : {{.*}} outs(%[[S]] :
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]} ins(%[[MASK]] : {{.*}} outs(%[[S]] :
// CHECK-NEXT: ^bb0(%[[KEEP:.+]]: i1, %[[DOT:.+]]: f32):
// CHECK: %[[ROW:.+]] = linalg.index 0
// CHECK: arith.index_cast %[[ROW]]
// CHECK: %[[SCORE:.+]] = arith.select %[[KEEP]], %[[DOT]],
// CHECK: linalg.yield %[[SCORE]]
// CHECK: %[[LEAST:.+]] = arith.constant 0xFF800000
// CHECK: linalg.fill ins(%[[LEAST]] : f32) outs(%[[M]] :
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[S]] : {{.*}} outs(%[[M]] :
// CHECK: arith.maximumf
// A row without keys subtracts zero. The sums are not needed yet.
// CHECK: linalg.generic {{.*}} ins(%[[M]] : {{.*}} outs(%[[T]] :
// CHECK-NEXT: ^bb0(%[[MAX:.+]]: f32, %{{.+}}: f32):
// CHECK: %[[EMPTY:.+]] = arith.cmpf oeq, %[[MAX]], %{{.+}}
// CHECK: %[[FINITE:.+]] = arith.select %[[EMPTY]], %{{.+}}, %[[MAX]]
// CHECK: linalg.yield %[[FINITE]]
// CHECK: linalg.generic {{.*}} ins(%[[T]] : {{.*}} outs(%[[S]] :
// CHECK-NEXT: ^bb0(%[[LARGEST:.+]]: f32, %[[OLD:.+]]: f32):
// CHECK: %[[DIFFERENCE:.+]] = arith.subf %[[OLD]], %[[LARGEST]]
// CHECK: math.exp %[[DIFFERENCE]]
// CHECK: linalg.fill ins(%{{.+}} : f32) outs(%[[T]] :
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]} ins(%[[S]] : {{.*}} outs(%[[T]] :
// CHECK: arith.addf
// CHECK: linalg.contract indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>] ins(%[[S]], %[[V]] : {{.*}} outs(%[[P]] :
// CHECK-NOT: ark.online_attention
func.func private @body(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<2x64xf32>, %k: memref<?x64xf32>, %v: memref<?x64xf32>, %mask: memref<?xi1>,
    %p: memref<2x64xf32>, %m: memref<2xf32>, %t: memref<2xf32>, %s: memref<2x?xf32>) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    ark.online_attention ins(%q, %k, %v : memref<2x64xf32>, memref<?x64xf32>, memref<?x64xf32>) mask(%mask : memref<?xi1>)
        outs(%p, %m, %t, %s : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x?xf32>)
        maps [#query, #keys, #values, affine_map<(m, n, k, c) -> (n)>, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32, %keep: i1):
      %number = arith.index_cast %row : index to i32
      %bias = arith.sitofp %number : i32 to f32
      %score = arith.select %keep, %dot, %bias : f32
      ark.yield %score : f32
    }
  }
  return
}

// The attention that ark-flash-attention computes stays.
// CHECK-LABEL: func.func private @fast(
// CHECK-NOT: linalg.
// CHECK: ark.online_attention
func.func private @fast(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<2x64xbf16> {llvm.align = 16 : i64}, %k: memref<96x64xbf16> {llvm.align = 16 : i64},
    %p: memref<2x64xf32>, %m: memref<2xf32>, %t: memref<2xf32>, %s: memref<2x96xf32>) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    ark.online_attention ins(%q, %k, %k : memref<2x64xbf16>, memref<96x64xbf16>, memref<96x64xbf16>)
        outs(%p, %m, %t, %s : memref<2x64xf32>, memref<2xf32>, memref<2xf32>, memref<2x96xf32>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      ark.yield %dot : f32
    }
  }
  return
}

// -----

#query = affine_map<(h, n, k, c) -> (h, k)>
#keys = affine_map<(h, n, k, c) -> (h floordiv 4, n, k)>
#values = affine_map<(h, n, k, c) -> (h floordiv 4, n, c)>
#product = affine_map<(h, n, k, c) -> (h, c)>
#rows = affine_map<(h, n, k, c) -> (h)>
#scores = affine_map<(h, n, k, c) -> (h, n)>
ark.kernel @k {
    entry = @ark_kernel, sms = 1 : i64, arena = 0 : i64, bodies = [{function = @heads, operands = 0 : i64}], buffers = [], tasks = [],
    operands = dense<> : tensor<0x2xi64>, task_table = dense<> : tensor<0x2xi32>,
    instructions = dense<> : tensor<0x4xi32>, lanes = dense<[[0, 0, 0]]> : tensor<1x3xi32>,
    semaphores = [], timeline = dense<> : tensor<0x2xi64>}

// Eight heads read two key heads, which no named op expresses. Elements are widened before the product.
// CHECK-LABEL: func.func private @heads(
// CHECK-NOT: linalg.contract
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0 floordiv 4, d1, d2)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK: arith.extf
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d0 floordiv 4, d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]}
// CHECK-NOT: ark.online_attention
func.func private @heads(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
    %q: memref<8x64xbf16>, %k: memref<2x96x64xbf16>, %p: memref<8x64xf32>, %m: memref<8xf32>, %t: memref<8xf32>,
    %s: memref<8x96xf32>) {
  %c1 = arith.constant 1 : index
  scf.for %vcta = %begin to %end step %c1 {
    ark.online_attention ins(%q, %k, %k : memref<8x64xbf16>, memref<2x96x64xbf16>, memref<2x96x64xbf16>)
        outs(%p, %m, %t, %s : memref<8x64xf32>, memref<8xf32>, memref<8xf32>, memref<8x96xf32>)
        maps [#query, #keys, #values, #product, #rows, #rows, #scores] {
    ^bb0(%row: index, %key: index, %dot: f32):
      ark.yield %dot : f32
    }
  }
  return
}
