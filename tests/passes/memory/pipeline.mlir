// The pass manager runs on tasks concurrently. A dialect conversion sets the operands of the op
// that it runs on, and tasks share operands: it would race. Hence no conversion runs on tasks.
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=memory --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s

// CHECK: ark-bufferize-program,
// CHECK-NEXT: ark.task(
// CHECK-NEXT: ark-bufferize-bodies,
// CHECK-NEXT: cse,
// CHECK-NEXT: canonicalize
// CHECK-NEXT: ),
// CHECK-NEXT: lower-affine,
// CHECK-NEXT: ark-elide-concats,
// CHECK-NEXT: ark.task(
// CHECK-NEXT: ark-place-temporaries
// CHECK-NEXT: ),
// CHECK-NEXT: ark-order-for-memory{limit=0},
// CHECK-NEXT: ark-plan-arena{limit=0},
ark.program @p(%x: tensor<8xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
    -> (tensor<8xf32> {ark.name = "y"}) {
  %0 = ark.relu %x : (tensor<8xf32>) -> tensor<8xf32>
  ark.return %0 : tensor<8xf32>
}
