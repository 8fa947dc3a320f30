// The number of equal layers changes only tables: a kernel of four layers has the functions of a kernel of
// two layers, and longer tables.
// RUN: split-file %s %t
// RUN: ark-opt %t/two.mlir --ark-target=cpu:2 --ark-compile-to=kernel -o %t/two.out
// RUN: ark-opt %t/four.mlir --ark-target=cpu:2 --ark-compile-to=kernel -o %t/four.out
// RUN: FileCheck %t/two.mlir --input-file=%t/two.out
// RUN: FileCheck %t/four.mlir --input-file=%t/four.out

// The modules differ in the kernel op only.
// RUN: grep -v "ark.kernel @" %t/two.out > %t/two.code
// RUN: grep -v "ark.kernel @" %t/four.out > %t/four.code
// RUN: diff %t/two.code %t/four.code

//--- two.mlir
// CHECK: ark.kernel @layers
// CHECK-SAME: bodies = [{footprints = {{.*}}, function = @body_matmul_relu, operands = 3 : i64}],
// CHECK-SAME: name = "w2"
// CHECK-SAME: operands = dense<{{[^>]+}}> : tensor<6x2xi64>
// CHECK-SAME: task_table = dense<{{\[}}[0, 0], [0, 3]]> : tensor<2x2xi32>
ark.program @layers(
    %x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w1: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w1"},
    %w2: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w2"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w1 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %1 = ark.relu %0 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = ark.matmul %1, %w2 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %3 = ark.relu %2 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  ark.return %3 : tensor<64x32xf32>
}

//--- four.mlir
// CHECK: ark.kernel @layers
// CHECK-SAME: bodies = [{footprints = {{.*}}, function = @body_matmul_relu, operands = 3 : i64}],
// CHECK-SAME: name = "w4"
// CHECK-SAME: operands = dense<{{[^>]+}}> : tensor<12x2xi64>
// CHECK-SAME: task_table = dense<{{\[}}[0, 0], [0, 3], [0, 6], [0, 9]]> : tensor<4x2xi32>
ark.program @layers(
    %x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w1: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w1"},
    %w2: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w2"},
    %w3: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w3"},
    %w4: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w4"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w1 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %1 = ark.relu %0 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = ark.matmul %1, %w2 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %3 = ark.relu %2 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %4 = ark.matmul %3, %w3 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %5 = ark.relu %4 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %6 = ark.matmul %5, %w4 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %7 = ark.relu %6 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  ark.return %7 : tensor<64x32xf32>
}
