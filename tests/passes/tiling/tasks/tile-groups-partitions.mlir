// RUN: ark-opt %s --ark-decompose --ark-fuse-elementwise --ark-tile-groups --ark-verify-tiling --mlir-print-local-scope | FileCheck %s

// A vCTA has every eighth row of the state, and writes the new row only if the row is one of them.
// CHECK-LABEL: ark.program @rowOfAPartition
// CHECK-SAME: (%[[V:.+]]: tensor<2x1x16xf32> {{.*}}, %[[S:.+]]: tensor<2x64x16xf32> {{.*}}, %[[P:.+]]: tensor<i32>
// CHECK-NEXT: %[[PARTITIONS:.+]] = ark.reshape %[[S]] shape = [2, 8, 8, 16]
// CHECK-NEXT: %[[R:.+]] = ark.task "cache" grid [2, 8]
// CHECK-SAME: ins(%[[V]][#ark.region<(d0, d1) -> (d0, 0, 0), [1, 1, 16]>] : tensor<2x1x16xf32>, %[[P]][#ark.region<(d0, d1) -> (), []>] : tensor<i32>)
// CHECK-SAME: outs(%[[PARTITIONS]][#ark.region<(d0, d1) -> (d0, 0, d1, 0), [1, 8, 1, 16]>] : tensor<2x8x8x16xf32>)
// CHECK-SAME: in_place
// CHECK: ^bb0(%{{.+}}: index, %[[PARTITION:.+]]: index, %[[VALUE:.+]]: tensor<1x1x16xf32>, %{{.+}}: tensor<i32>, %[[TILE:.+]]: tensor<1x8x1x16xf32>
// CHECK: %[[AT:.+]] = ark.check_index
// CHECK: %[[OF:.+]] = affine.apply affine_map<()[s0] -> (s0 mod 8)>()[%[[AT]]]
// CHECK: %[[OWN:.+]] = arith.cmpi eq, %[[OF]], %[[PARTITION]] : index
// CHECK: %[[COUNT:.+]] = arith.select %[[OWN]], %{{.+}}, %{{.+}} : index
// CHECK: %[[ROW:.+]] = affine.apply affine_map<()[s0] -> (s0 floordiv 8)>()[%[[AT]]]
// CHECK: %[[TO:.+]] = tensor.extract_slice %[[TILE]][0, %[[ROW]], 0, 0] [1, %[[COUNT]], 1, 16]
// CHECK: %[[FROM:.+]] = tensor.extract_slice %[[VALUE]][0, 0, 0] [1, %[[COUNT]], 16]
// CHECK: linalg.copy ins(%[[FROM]] :{{.*}}outs(%[[TO]] :
// One reader has the shape of partitions; another reader has the shape of rows.
// CHECK: %[[ROWS:.+]] = ark.reshape %[[R]] shape = [2, 64, 16]
// CHECK: ark.task "partitions" {{.*}}ins(%[[R]]
// CHECK: ark.task "rows" {{.*}}ins(%[[ROWS]]
ark.program @rowOfAPartition(
    %v: tensor<2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %s: tensor<2x64x16xf32> {ark.kind = #ark.kind<state>, ark.name = "s"},
    %p: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "p"})
    -> (tensor<2x8x8x16xf32> {ark.name = "y"}, tensor<2x64x16xf32> {ark.name = "z"}) {
  %0 = ark.group "cache" (%a = %s, %b = %v, %d = %p) attributes {tile = array<i64: 1, 8, 16>} : (tensor<2x64x16xf32>, tensor<2x1x16xf32>, tensor<i32>) -> tensor<2x64x16xf32> {
    %r = ark.update %b into %a [0, %d, 0] : (tensor<2x64x16xf32>, tensor<2x1x16xf32>, tensor<i32>) -> tensor<2x64x16xf32>
    ark.yield %r : tensor<2x64x16xf32>
  }
  %1 = ark.reshape %0 shape = [2, 8, 8, 16] : (tensor<2x64x16xf32>) -> tensor<2x8x8x16xf32>
  %2 = ark.group "partitions" (%a = %1) attributes {tile = array<i64: 2, 8, 8, 16>} : (tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32> {
    %r = ark.exp %a : (tensor<2x8x8x16xf32>) -> tensor<2x8x8x16xf32>
    ark.yield %r : tensor<2x8x8x16xf32>
  }
  %3 = ark.group "rows" (%a = %0) attributes {tile = array<i64: 2, 64, 16>} : (tensor<2x64x16xf32>) -> tensor<2x64x16xf32> {
    %r = ark.exp %a : (tensor<2x64x16xf32>) -> tensor<2x64x16xf32>
    ark.yield %r : tensor<2x64x16xf32>
  }
  ark.return %2, %3 : tensor<2x8x8x16xf32>, tensor<2x64x16xf32>
}

// The number of keys follows from the partition of the vCTA.
// CHECK-LABEL: ark.program @keysOfAPartition
// CHECK: ark.task "attention" grid [2, 8]
// CHECK-SAME: #ark.region<(d0, d1) -> (d0, 0, d1, 0), [1, 32, 1, 16]>] : tensor<2x32x8x16xf32>
// CHECK: ^bb0(%{{.+}}: index, %[[PARTITION:.+]]: index,
// CHECK: affine.min affine_map<(d0, d1) -> ((d0 - d1 + 7) floordiv 8, 32)>(%{{.+}}, %[[PARTITION]])
// Results stay temporaries: elementwise ops copy them to the out.
// CHECK: %[[A:.+]]:4 = ark.online_attention
// CHECK-DAG: %[[PRODUCT:.+]] = linalg.copy ins(%[[A]]#0 :
// CHECK-DAG: tensor.insert_slice %[[PRODUCT]] into
// CHECK-NOT: ark.tile_offset
ark.program @keysOfAPartition(
    %q: tensor<2x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "q"},
    %k: tensor<2x32x8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "k"},
    %n: tensor<i32> {ark.kind = #ark.kind<scalar>, ark.name = "n"})
    -> (tensor<2x1x8x18xf32> {ark.name = "y"}) {
  %0 = ark.group "attention" (%a = %q, %b = %k, %d = %n) attributes {tile = array<i64: 1, 1, 1, 18>}
      : (tensor<2x1x16xf32>, tensor<2x32x8x16xf32>, tensor<i32>) -> tensor<2x1x8x18xf32> {
    %r = ark.partial_attention %a, %b, %b kv_length %d scale = 1.0 : (tensor<2x1x16xf32>, tensor<2x32x8x16xf32>, tensor<2x32x8x16xf32>, tensor<i32>) -> tensor<2x1x8x18xf32>
    ark.yield %r : tensor<2x1x8x18xf32>
  }
  ark.return %0 : tensor<2x1x8x18xf32>
}
