// RUN: ark-opt %s --split-input-file --ark-form-groups --ark-verify-graph | FileCheck %s

// The product reads the gathered matrices in the table.
// CHECK-LABEL: ark.program @gatheredMatricesJoinTheirProduct
// CHECK: ark.group "matmul" (%[[T:.+]] = %{{.+}}, %[[I:.+]] = %{{.+}}, %[[X:.+]] = %{{.+}}) :
// CHECK-NEXT: %[[W:.+]] = ark.gather %[[T]], %[[I]] axis = 0
// CHECK-NEXT: %[[Y:.+]] = ark.matmul %[[X]], %[[W]] {transpose_other}
// CHECK-NEXT: ark.silu %[[Y]]
ark.program @gatheredMatricesJoinTheirProduct(
    %x: tensor<1x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %t: tensor<8x12x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "t"},
    %i: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<3x1x12xf32> {ark.name = "y"}) {
  %0 = ark.gather %t, %i axis = 0 : (tensor<8x12x16xf32>, tensor<3xi32>) -> tensor<3x12x16xf32>
  %1 = ark.matmul %x, %0 {transpose_other} : (tensor<1x1x16xf32>, tensor<3x12x16xf32>) -> tensor<3x1x12xf32>
  %2 = ark.silu %1 : (tensor<3x1x12xf32>) -> tensor<3x1x12xf32>
  ark.return %2 : tensor<3x1x12xf32>
}

// -----

// Another reader needs the matrices in memory.
// CHECK-LABEL: ark.program @anotherReader
// CHECK: ark.group "gather"
// CHECK: ark.group "matmul"
// CHECK-NEXT: ark.matmul
// CHECK: ark.group "abs"
ark.program @anotherReader(
    %x: tensor<1x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %t: tensor<8x12x16xf32> {ark.kind = #ark.kind<parameter>, ark.name = "t"},
    %i: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<3x1x12xf32> {ark.name = "y"}, tensor<3x12x16xf32> {ark.name = "z"}) {
  %0 = ark.gather %t, %i axis = 0 : (tensor<8x12x16xf32>, tensor<3xi32>) -> tensor<3x12x16xf32>
  %1 = ark.matmul %x, %0 {transpose_other} : (tensor<1x1x16xf32>, tensor<3x12x16xf32>) -> tensor<3x1x12xf32>
  %2 = ark.abs %0 : (tensor<3x12x16xf32>) -> tensor<3x12x16xf32>
  ark.return %1, %2 : tensor<3x1x12xf32>, tensor<3x12x16xf32>
}

// -----

// Rows of a matrix, and a left operand, are no matrices of a table.
// CHECK-LABEL: ark.program @noMatricesOfATable
// CHECK: ark.group "gather"
// CHECK-NEXT: ark.gather
// CHECK-NEXT: ark.yield
// CHECK: ark.group "gather_2"
// CHECK-NEXT: ark.gather
// CHECK-NEXT: ark.yield
ark.program @noMatricesOfATable(
    %t: tensor<8x12xf32> {ark.kind = #ark.kind<parameter>, ark.name = "t"},
    %u: tensor<8x5x12xf32> {ark.kind = #ark.kind<parameter>, ark.name = "u"},
    %i: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<3x5x3xf32> {ark.name = "y"}) {
  %0 = ark.gather %t, %i axis = 0 : (tensor<8x12xf32>, tensor<3xi32>) -> tensor<3x12xf32>
  %1 = ark.gather %u, %i axis = 0 : (tensor<8x5x12xf32>, tensor<3xi32>) -> tensor<3x5x12xf32>
  %2 = ark.matmul %1, %0 {transpose_other} : (tensor<3x5x12xf32>, tensor<3x12xf32>) -> tensor<3x5x3xf32>
  ark.return %2 : tensor<3x5x3xf32>
}

// -----

// The update writes the state before the product, and the gather would read the state where the product does.
// CHECK-LABEL: ark.program @overwrittenTable
// CHECK: ark.group "gather"
// CHECK-NEXT: ark.gather
// CHECK: ark.group "update"
// CHECK: ark.group "matmul"
// CHECK-NEXT: ark.matmul
ark.program @overwrittenTable(
    %x: tensor<1x1x16xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %v: tensor<1x12x16xf32> {ark.kind = #ark.kind<input>, ark.name = "v"},
    %t: tensor<8x12x16xf32> {ark.kind = #ark.kind<state>, ark.name = "t"},
    %i: tensor<3xi32> {ark.kind = #ark.kind<input>, ark.name = "i"})
    -> (tensor<3x1x12xf32> {ark.name = "y"}) {
  %0 = ark.gather %t, %i axis = 0 : (tensor<8x12x16xf32>, tensor<3xi32>) -> tensor<3x12x16xf32>
  %1 = ark.update %v into %t [2, 0, 0] : (tensor<8x12x16xf32>, tensor<1x12x16xf32>) -> tensor<8x12x16xf32>
  %2 = ark.matmul %x, %0 {transpose_other} : (tensor<1x1x16xf32>, tensor<3x12x16xf32>) -> tensor<3x1x12xf32>
  ark.return %2 : tensor<3x1x12xf32>
}
