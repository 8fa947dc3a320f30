// RUN: ark-opt %s --ark-fuse-elementwise | FileCheck %s

// CHECK-LABEL: ark.program @chainIsOneOp
ark.program @chainIsOneOp(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic
  // CHECK: %[[E:.+]] = math.exp
  // CHECK-NEXT: math.tanh %[[E]]
  // CHECK-NOT: linalg.generic
  // CHECK: ark.return
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %empty_1 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x8xf32>) outs(%empty_1 : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.exp %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %empty_r = tensor.empty() : tensor<4x8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<4x8xf32>) outs(%empty_r : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.tanh %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @valueWithTwoReadersIsComputedOnce
ark.program @valueWithTwoReadersIsComputedOnce(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: %[[E:.+]] = linalg.generic
  // CHECK: math.exp
  // CHECK: %[[S:.+]] = linalg.generic {{.*}} ins(%[[E]] :
  // CHECK: linalg.generic {{.*}} ins(%[[E]], %[[S]] :
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4x8xf32> {
    %empty_1 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x8xf32>) outs(%empty_1 : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.exp %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %zero = arith.constant 0.0 : f32
    %er = tensor.empty() : tensor<4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = arith.addf %in0, %out : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    %empty_r = tensor.empty() : tensor<4x8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%1, %2 : tensor<4x8xf32>, tensor<4xf32>) outs(%empty_r : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %v = arith.divf %in0, %in1 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// No wide tensor is stored in memory.
// CHECK-LABEL: ark.program @conversionIsRepeatedForEveryReader
ark.program @conversionIsRepeatedForEveryReader(
    %x: tensor<4x8xf16> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic {{.*}} ins(%{{.+}} : tensor<4x8xf16>) outs(%{{.+}} : tensor<4x8xf32>)
  // CHECK-NEXT: ^bb0(%[[X:.+]]: f16, %{{.+}}: f32):
  // CHECK: %[[WIDE:.+]] = arith.extf %[[X]]
  // CHECK: %[[E:.+]] = math.exp %[[WIDE]]
  // CHECK: %[[AGAIN:.+]] = arith.extf %[[X]]
  // CHECK: arith.addf %[[AGAIN]], %[[E]]
  // CHECK-NOT: linalg.generic
  // CHECK: ark.return
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf16>) -> tensor<4x8xf32> {
    %empty_1 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x8xf16>) outs(%empty_1 : tensor<4x8xf32>) {
    ^bb0(%in0: f16, %out: f32):
      %v = arith.extf %in0 : f16 to f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %empty_2 = tensor.empty() : tensor<4x8xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<4x8xf32>) outs(%empty_2 : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.exp %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %empty_r = tensor.empty() : tensor<4x8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%1, %2 : tensor<4x8xf32>, tensor<4x8xf32>) outs(%empty_r : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %v = arith.addf %in0, %in1 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// The value is not recomputed for every column.
// CHECK-LABEL: ark.program @broadcastValueIsComputedOnce
ark.program @broadcastValueIsComputedOnce(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %rows: tensor<4xf32> {ark.kind = #ark.kind<input>, ark.name = "rows"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: %[[E:.+]] = linalg.generic
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}} ins(%{{.+}}, %[[E]] :
  %0 = ark.group "g" (%a = %x, %b = %rows)
      : (tensor<4x8xf32>, tensor<4xf32>) -> tensor<4x8xf32> {
    %empty_1 = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]}
        ins(%b : tensor<4xf32>) outs(%empty_1 : tensor<4xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.exp %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    %empty_r = tensor.empty() : tensor<4x8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a, %1 : tensor<4x8xf32>, tensor<4xf32>) outs(%empty_r : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %v = arith.addf %in0, %in1 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}

// CHECK-LABEL: ark.program @reductionTakesItsProducer
ark.program @reductionTakesItsProducer(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<4xf32> {ark.name = "y"}) {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]}
  // CHECK: %[[E:.+]] = math.exp
  // CHECK-NEXT: arith.addf %[[E]]
  %0 = ark.group "g" (%a = %x)
      : (tensor<4x8xf32>) -> tensor<4xf32> {
    %empty_1 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x8xf32>) outs(%empty_1 : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.exp %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %zero = arith.constant 0.0 : f32
    %er = tensor.empty() : tensor<4xf32>
    %init = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0)>],
        iterator_types = ["parallel", "reduction"]}
        ins(%1 : tensor<4x8xf32>) outs(%init : tensor<4xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = arith.addf %in0, %out : f32
      linalg.yield %v : f32
    } -> tensor<4xf32>
    ark.yield %r : tensor<4xf32>
  }
  ark.return %0 : tensor<4xf32>
}

// CHECK-LABEL: ark.program @contractionTakesConversions
ark.program @contractionTakesConversions(
    %x: tensor<4x8xf16> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "w"})
    -> (tensor<4x16xf32> {ark.name = "y"}) {
  // CHECK: ark.group "g" (%[[X:.+]] = %{{.+}}, %[[W:.+]] = %{{.+}})
  // CHECK: linalg.generic {{.*}}"reduction"]} ins(%[[X]], %[[W]] : tensor<4x8xf16>, tensor<8x16xf32>)
  // CHECK: arith.extf
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4x8xf16>, tensor<8x16xf32>) -> tensor<4x16xf32> {
    %empty_1 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x8xf16>) outs(%empty_1 : tensor<4x8xf32>) {
    ^bb0(%in0: f16, %out: f32):
      %v = arith.extf %in0 : f16 to f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<4x16xf32>
    %init = linalg.fill ins(%zero : f32) outs(%em : tensor<4x16xf32>) -> tensor<4x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%1, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %p = arith.mulf %in0, %in1 : f32
      %s = arith.addf %out, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x16xf32>
    ark.yield %r : tensor<4x16xf32>
  }
  ark.return %0 : tensor<4x16xf32>
}

// The fused op would not be a contraction.
// CHECK-LABEL: ark.program @contractionTakesNoArithmetic
ark.program @contractionTakesNoArithmetic(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "w"})
    -> (tensor<4x16xf32> {ark.name = "y"}) {
  // CHECK: %[[E:.+]] = linalg.generic
  // CHECK: math.exp
  // CHECK: linalg.generic {{.*}}"reduction"]} ins(%[[E]], %{{.+}} :
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> {
    %empty_1 = tensor.empty() : tensor<4x8xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x8xf32>) outs(%empty_1 : tensor<4x8xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.exp %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<4x16xf32>
    %init = linalg.fill ins(%zero : f32) outs(%em : tensor<4x16xf32>) -> tensor<4x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%1, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %p = arith.mulf %in0, %in1 : f32
      %s = arith.addf %out, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x16xf32>
    ark.yield %r : tensor<4x16xf32>
  }
  ark.return %0 : tensor<4x16xf32>
}

// CHECK-LABEL: ark.program @epilogueStaysBehindTheContraction
ark.program @epilogueStaysBehindTheContraction(
    %x: tensor<4x8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<8x16xf32> {ark.kind = #ark.kind<input>, ark.name = "w"})
    -> (tensor<4x16xf32> {ark.name = "y"}) {
  // CHECK: %[[ACC:.+]] = linalg.generic {{.*}}"reduction"]}
  // CHECK: linalg.generic {{.*}}"parallel"]} ins(%[[ACC]] :
  // CHECK: math.exp
  // CHECK-NEXT: math.tanh
  %0 = ark.group "g" (%a = %x, %b = %w)
      : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32> {
    %zero = arith.constant 0.0 : f32
    %em = tensor.empty() : tensor<4x16xf32>
    %init = linalg.fill ins(%zero : f32) outs(%em : tensor<4x16xf32>) -> tensor<4x16xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2) -> (d0, d2)>, affine_map<(d0, d1, d2) -> (d2, d1)>, affine_map<(d0, d1, d2) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel", "reduction"]}
        ins(%a, %b : tensor<4x8xf32>, tensor<8x16xf32>) outs(%init : tensor<4x16xf32>) {
    ^bb0(%in0: f32, %in1: f32, %out: f32):
      %p = arith.mulf %in0, %in1 : f32
      %s = arith.addf %out, %p : f32
      linalg.yield %s : f32
    } -> tensor<4x16xf32>
    %empty_2 = tensor.empty() : tensor<4x16xf32>
    %2 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<4x16xf32>) outs(%empty_2 : tensor<4x16xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.exp %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x16xf32>
    %empty_r = tensor.empty() : tensor<4x16xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%2 : tensor<4x16xf32>) outs(%empty_r : tensor<4x16xf32>) {
    ^bb0(%in0: f32, %out: f32):
      %v = math.tanh %in0 : f32
      linalg.yield %v : f32
    } -> tensor<4x16xf32>
    ark.yield %r : tensor<4x16xf32>
  }
  ark.return %0 : tensor<4x16xf32>
}

// The report of a bad index is a side effect, and stays in its own op.
// CHECK-LABEL: ark.program @indexIsCheckedOnce
ark.program @indexIsCheckedOnce(
    %i: tensor<4x8xi32> {ark.kind = #ark.kind<input>, ark.name = "i"},
    %table: tensor<16xf32> {ark.kind = #ark.kind<input>, ark.name = "table"})
    -> (tensor<4x8xf32> {ark.name = "y"}) {
  // CHECK: %[[CHECKED:.+]] = linalg.generic
  // CHECK: ark.check_index
  // CHECK: linalg.generic {{.*}} ins(%[[CHECKED]] :
  // CHECK: tensor.extract
  %0 = ark.group "g" (%a = %i, %b = %table)
      : (tensor<4x8xi32>, tensor<16xf32>) -> tensor<4x8xf32> {
    %empty_1 = tensor.empty() : tensor<4x8xindex>
    %1 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<4x8xi32>) outs(%empty_1 : tensor<4x8xindex>) {
    ^bb0(%in0: i32, %out: index):
      %j = arith.index_cast %in0 : i32 to index
      %n = arith.constant 16 : index
      %v = ark.check_index %j below %n
      linalg.yield %v : index
    } -> tensor<4x8xindex>
    %empty_r = tensor.empty() : tensor<4x8xf32>
    %r = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%1 : tensor<4x8xindex>) outs(%empty_r : tensor<4x8xf32>) {
    ^bb0(%in0: index, %out: f32):
      %v = tensor.extract %b[%in0] : tensor<16xf32>
      linalg.yield %v : f32
    } -> tensor<4x8xf32>
    ark.yield %r : tensor<4x8xf32>
  }
  ark.return %0 : tensor<4x8xf32>
}
