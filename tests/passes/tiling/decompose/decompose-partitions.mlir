// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// Partition p has the keys p, p + 8, …: (length - p + 7) / 8 of them; keys beyond the length are not read.
// CHECK-LABEL: ark.program @partitionOfALength
ark.program @partitionOfALength(
    %q: tensor<4x1x16xbf16> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x8x16xbf16> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<4x1x8x18xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[Q:.+]] = %{{.+}}, %[[K:.+]] = %{{.+}}, %[[N:.+]] = %{{.+}})
  // CHECK: %[[BOUND:.+]] = arith.constant 257 : index
  // CHECK: %[[LENGTH:.+]] = ark.check_index %{{.+}} below %[[BOUND]]
  // CHECK: %[[PARTITION:.+]] = ark.tile_offset 2
  // CHECK: %[[ROWS:.+]] = affine.min affine_map<(d0, d1) -> ((d0 - d1 + 7) floordiv 8, 32)>(%[[LENGTH]], %[[PARTITION]])
  // CHECK: %[[KEYS:.+]] = tensor.extract_slice %[[K]][0, 0, 0, 0] [2, %[[ROWS]], 8, 16]
  // CHECK: %[[VALUES:.+]] = tensor.extract_slice %[[K]][0, 0, 0, 0] [2, %[[ROWS]], 8, 16]
  // The loops are (head, query, partition, key, depth, column).
  // CHECK: %[[A:.+]]:4 = ark.online_attention ins(%[[Q]], %[[KEYS]], %[[VALUES]] :
  // CHECK-SAME: outs(%{{.+}} : tensor<4x1x8x16xf32>, tensor<4x1x8xf32>, tensor<4x1x8xf32>, tensor<4x1x8x?xf32>)
  // CHECK-SAME: maps [affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 floordiv 2, d3, d2, d4)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0 floordiv 2, d3, d2, d5)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>,
  // Partial results are not normalised.
  // CHECK-NOT: arith.divf
  // CHECK: tensor.insert_slice %[[A]]#0 into %{{.+}}[0, 0, 0, 0] [4, 1, 8, 16]
  // CHECK: %[[OF_MAX:.+]] = linalg.generic {{.*}} ins(%[[A]]#1 :
  // CHECK: tensor.insert_slice %[[OF_MAX]] into %{{.+}}[0, 0, 0, 16] [4, 1, 8, 1]
  // CHECK: %[[OF_SUM:.+]] = linalg.generic {{.*}} ins(%[[A]]#2 :
  // CHECK: tensor.insert_slice %[[OF_SUM]] into %{{.+}}[0, 0, 0, 17] [4, 1, 8, 1]
  %0 = ark.group "g" (%a = %q, %b = %k, %d = %n)
      : (tensor<4x1x16xbf16>, tensor<2x32x8x16xbf16>, tensor<i32>) -> tensor<4x1x8x18xf32> {
    %r = ark.partial_attention %a, %b, %b kv_length %d scale = 5.0e-1 : (tensor<4x1x16xbf16>, tensor<2x32x8x16xbf16>, tensor<2x32x8x16xbf16>, tensor<i32>) -> tensor<4x1x8x18xf32>
    ark.yield %r : tensor<4x1x8x18xf32>
  }
  ark.return %0 : tensor<4x1x8x18xf32>
}

// Key n of partition p is key 8 n + p of the cache; a mask has the order of the cache.
// CHECK-LABEL: ark.program @positionsInPartitions
ark.program @positionsInPartitions(
    %q: tensor<2x3x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %m: tensor<3x32x8xf32> {ark.kind = #ark.kind<input>, ark.name = "m"})
    -> (tensor<2x3x8x18xf32> {ark.name = "y"}) {
  // CHECK-NOT: ark.tile_offset
  // CHECK: ark.online_attention ins({{.*}}) mask(%{{.+}} : tensor<3x32x8xf32>)
  // CHECK-SAME: affine_map<(d0, d1, d2, d3, d4, d5) -> (d1, d3, d2)>, affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2, d5)>
  // CHECK-NEXT: ^bb0(%{{.+}}: index, %[[QUERY:.+]]: index, %[[PARTITION:.+]]: index, %[[KEY:.+]]: index,
  // CHECK: %[[FIRST:.+]] = arith.muli %[[KEY]], %{{.+}} : index
  // CHECK: %[[NUMBER:.+]] = arith.addi %[[FIRST]], %[[PARTITION]] : index
  // CHECK: %[[LEFT:.+]] = arith.addi %[[NUMBER]], %{{.+}} : index
  // CHECK: %[[RIGHT:.+]] = arith.addi %[[QUERY]], %{{.+}} : index
  // CHECK: arith.cmpi sle, %[[LEFT]], %[[RIGHT]]
  %0 = ark.group "g" (%a = %q, %b = %k, %c = %m)
      : (tensor<2x3x16xf32>, tensor<2x32x8x16xf32>, tensor<3x32x8xf32>) -> tensor<2x3x8x18xf32> {
    %r = ark.partial_attention %a, %b, %b mask %c scale = 5.0e-1 {causal} : (tensor<2x3x16xf32>, tensor<2x32x8x16xf32>, tensor<2x32x8x16xf32>, tensor<3x32x8xf32>) -> tensor<2x3x8x18xf32>
    ark.yield %r : tensor<2x3x8x18xf32>
  }
  ark.return %0 : tensor<2x3x8x18xf32>
}

// The largest score of a partition without a valid key is minus infinity. If all partitions are without a
// valid key, their weight is exp(-inf - 0), so that no infinities are subtracted.
// CHECK-LABEL: ark.program @combinationOfPartitions
ark.program @combinationOfPartitions(
    %x: tensor<4x1x8x18xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x1x16xbf16> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}})
  // CHECK: %[[SUMS:.+]] = tensor.extract_slice %[[X]][0, 0, 0, 0] [4, 1, 8, 16]
  // CHECK: %[[MAXIMA:.+]] = tensor.extract_slice %[[X]][0, 0, 0, 16] [4, 1, 8, 1]
  // CHECK: %[[TOTALS:.+]] = tensor.extract_slice %[[X]][0, 0, 0, 17] [4, 1, 8, 1]
  // CHECK: %[[LARGEST:.+]] = linalg.generic {{.*}} ins(%[[MAXIMA]] :
  // CHECK: arith.maximumf
  // CHECK: %[[FINITE:.+]] = linalg.generic {{.*}} ins(%[[LARGEST]] :
  // CHECK: arith.select
  // CHECK: %[[WEIGHTS:.+]] = linalg.generic {{.*}} ins(%[[MAXIMA]], %[[FINITE]] :
  // CHECK: math.exp
  // CHECK: %[[TOTAL:.+]] = linalg.generic {{.*}} ins(%[[WEIGHTS]], %[[TOTALS]] :
  // CHECK: %[[INVERSE:.+]] = linalg.generic {{.*}} ins(%[[TOTAL]] :
  // CHECK: arith.divf
  // CHECK: %[[SUM:.+]] = linalg.generic {{.*}} ins(%[[WEIGHTS]], %[[SUMS]] :
  // CHECK: linalg.generic {{.*}} ins(%[[INVERSE]], %[[SUM]] :
  // CHECK: arith.truncf
  %0 = ark.group "g" (%a = %x) : (tensor<4x1x8x18xf32>) -> tensor<4x1x16xbf16> {
    %r = ark.combine_attention %a : (tensor<4x1x8x18xf32>) -> tensor<4x1x16xf32>
    %s = ark.cast %r to bf16 : (tensor<4x1x16xf32>) -> tensor<4x1x16xbf16>
    ark.yield %s : tensor<4x1x16xbf16>
  }
  ark.return %0 : tensor<4x1x16xbf16>
}
