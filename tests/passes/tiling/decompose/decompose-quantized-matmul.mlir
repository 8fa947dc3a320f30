// RUN: ark-opt %s --ark-decompose --mlir-print-local-scope | FileCheck %s

// Scales are read per group of 32 elements. The weights are extended element by element.
// CHECK-LABEL: ark.program @eightBits
// CHECK: linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d1, d2)>, affine_map<(d0, d1, d2) -> (d1, d2 floordiv 32)>, affine_map<(d0, d1, d2) -> (d0, d1)>], iterator_types = ["parallel", "parallel", "reduction"]} ins({{.+}} : tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x2xf32>)
// CHECK-NEXT: ^bb0(%[[X:.+]]: bf16, %[[W:.+]]: f8E4M3FN, %[[S:.+]]: f32, %[[OUT:.+]]: f32):
// CHECK: %[[WIDE:.+]] = arith.extf %[[W]]
// CHECK: %[[SCALED:.+]] = arith.mulf %[[WIDE]], %[[S]]
// CHECK: %[[PRODUCT:.+]] = arith.mulf %{{.+}}, %[[SCALED]]
// CHECK: arith.addf %[[OUT]], %[[PRODUCT]]
ark.program @eightBits(
    %x: tensor<2x64xbf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x64xf8E4M3FN> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<8x2xf32> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<2x8xbf16> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x, %b = %w, %c = %s) : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x2xf32>) -> tensor<2x8xbf16> {
    %r = ark.quantized_matmul %a, %b scales %c : (tensor<2x64xbf16>, tensor<8x64xf8E4M3FN>, tensor<8x2xf32>) -> tensor<2x8xbf16>
    ark.yield %r : tensor<2x8xbf16>
  }
  ark.return %0 : tensor<2x8xbf16>
}

// One scale belongs to each row, and a byte has two numbers, from which 8 is subtracted.
// CHECK-LABEL: ark.program @fourBits
// CHECK: affine_map<(d0, d1, d2) -> (d1, d2 floordiv 2)>, affine_map<(d0, d1, d2) -> (d1, 0)>
// CHECK: ^bb0(%{{.+}}: f32, %[[BYTE:.+]]: i8, %{{.+}}: f16, %{{.+}}: f32):
// CHECK: %[[INDEX:.+]] = linalg.index 2
// CHECK: %[[K:.+]] = arith.index_cast %[[INDEX]] : index to i32
// CHECK: %[[ONE:.+]] = arith.constant 1 : i32
// CHECK: %[[IS_SECOND:.+]] = arith.andi %[[K]], %[[ONE]] : i32
// CHECK: %[[TWO:.+]] = arith.constant 2 : i32
// CHECK: %[[SHIFT:.+]] = arith.shli %[[IS_SECOND]], %[[TWO]] : i32
// CHECK: %[[WORD:.+]] = arith.extui %[[BYTE]]
// CHECK-DAG: %[[SHIFTED:.+]] = arith.shrui %[[WORD]], %[[SHIFT]] : i32
// CHECK-DAG: %[[MASK:.+]] = arith.constant 15 : i32
// CHECK: %[[BITS:.+]] = arith.andi %[[SHIFTED]], %[[MASK]] : i32
// CHECK: %[[EIGHT:.+]] = arith.constant 8 : i32
// CHECK: %[[NUMBER:.+]] = arith.subi %[[BITS]], %[[EIGHT]]
// CHECK: arith.sitofp %[[NUMBER]]
ark.program @fourBits(
    %x: tensor<2x64xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x32xi8> {ark.kind = #ark.kind<parameter>, ark.name = "w"},
    %s: tensor<8x1xf16> {ark.kind = #ark.kind<parameter>, ark.name = "s"}) -> (tensor<2x8xf32> {ark.name = "y"}) {
  %0 = ark.group "g" (%a = %x, %b = %w, %c = %s) : (tensor<2x64xf32>, tensor<8x32xi8>, tensor<8x1xf16>) -> tensor<2x8xf32> {
    %r = ark.quantized_matmul %a, %b scales %c : (tensor<2x64xf32>, tensor<8x32xi8>, tensor<8x1xf16>) -> tensor<2x8xf32>
    ark.yield %r : tensor<2x8xf32>
  }
  ark.return %0 : tensor<2x8xf32>
}
