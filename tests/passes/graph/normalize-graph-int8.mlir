// RUN: ark-opt %s --split-input-file --ark-assign-target=target=hip:gfx942 --ark-normalize-graph | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cuda:sm_80 --ark-normalize-graph | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-assign-target=target=cpu:4 --ark-normalize-graph | FileCheck %s --check-prefix=CPU

// Matrix units multiply i8 and add the products in i32.
// CHECK-LABEL: ark.program @wideSums
// CHECK-SAME: (%[[X:.+]]: tensor<4x64xi8> {{.*}}, %[[W:.+]]: tensor<96x64xi8> {{.*}})
// CHECK-NEXT: %[[Y:.+]] = ark.matmul %[[X]], %[[W]] {transpose_other} : (tensor<4x64xi8>, tensor<96x64xi8>) -> tensor<4x96xi32>
// CHECK-NEXT: ark.return %[[Y]]
// CPU-LABEL: ark.program @wideSums
// CPU: ark.matmul %{{.+}} : (tensor<4x64xi32>, tensor<96x64xi32>) -> tensor<4x96xi32>
ark.program @wideSums(
    %x: tensor<4x64xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<96x64xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x96xi32> {ark.name = "y"}) {
  %0 = ark.cast %x to i32 : (tensor<4x64xi8>) -> tensor<4x64xi32>
  %1 = ark.cast %w to i32 : (tensor<96x64xi8>) -> tensor<96x64xi32>
  %2 = ark.matmul %0, %1 {transpose_other} : (tensor<4x64xi32>, tensor<96x64xi32>) -> tensor<4x96xi32>
  ark.return %2 : tensor<4x96xi32>
}

// -----

// Sums of i8 wrap: they are the lowest 8 bits of sums of i32.
// CHECK-LABEL: ark.program @narrowSums
// CHECK: %[[Y:.+]] = ark.matmul %{{.+}} : (tensor<4x64xi8>, tensor<64x96xi8>) -> tensor<4x96xi32>
// CHECK-NEXT: %[[Z:.+]] = ark.cast %[[Y]] to i8 {ark.plan = {warps = 4 : i64}} : (tensor<4x96xi32>) -> tensor<4x96xi8>
// CHECK-NEXT: ark.return %[[Z]]
// CPU-LABEL: ark.program @narrowSums
// CPU-NEXT: ark.matmul %{{.+}} -> tensor<4x96xi8>
// CPU-NEXT: ark.return
ark.program @narrowSums(
    %x: tensor<4x64xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x96xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4x96xi8> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {ark.plan = {warps = 4 : i64}} : (tensor<4x64xi8>, tensor<64x96xi8>) -> tensor<4x96xi8>
  ark.return %0 : tensor<4x96xi8>
}

// -----

// Matrix units read no unsigned integers, and no mixture of types. A cast in a block of its own plan stays.
// CHECK-LABEL: ark.program @others
// CHECK-DAG: ark.matmul %{{.+}} : (tensor<4x64xui8>, tensor<64x96xui8>) -> tensor<4x96xui8>
// CHECK-DAG: ark.matmul %{{.+}} : (tensor<4x64xi32>, tensor<64x96xi32>) -> tensor<4x96xi32>
// CHECK-DAG: ark.matmul %{{.+}} {ark.plan = {warps = 4 : i64}} : (tensor<4x64xi32>, tensor<64x96xi32>) -> tensor<4x96xi32>
ark.program @others(
    %u: tensor<4x64xui8> {ark.kind = #ark.kind<input>, ark.name = "u"},
    %v: tensor<64x96xui8> {ark.kind = #ark.kind<parameter>, ark.name = "v"},
    %x: tensor<4x64xi8> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<64x96xi32> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %q: tensor<64x96xi8> {ark.kind = #ark.kind<parameter>, ark.name = "q"})
    -> (tensor<4x96xui8> {ark.name = "a"}, tensor<4x96xi32> {ark.name = "b"}, tensor<4x96xi32> {ark.name = "c"}) {
  %0 = ark.matmul %u, %v : (tensor<4x64xui8>, tensor<64x96xui8>) -> tensor<4x96xui8>
  %1 = ark.cast %x to i32 : (tensor<4x64xi8>) -> tensor<4x64xi32>
  %2 = ark.matmul %1, %w : (tensor<4x64xi32>, tensor<64x96xi32>) -> tensor<4x96xi32>
  %3 = ark.cast %q to i32 {ark.plan = {warps = 8 : i64}} : (tensor<64x96xi8>) -> tensor<64x96xi32>
  %4 = ark.matmul %1, %3 {ark.plan = {warps = 4 : i64}} : (tensor<4x64xi32>, tensor<64x96xi32>) -> tensor<4x96xi32>
  ark.return %0, %2, %4 : tensor<4x96xui8>, tensor<4x96xi32>, tensor<4x96xi32>
}
