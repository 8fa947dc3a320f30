// Lists the passes of a stage in order, from MLIR's IR printing.
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=target --mlir-print-ir-after-all --mlir-disable-threading -o /dev/null 2>&1 | FileCheck %s

// CHECK: IR Dump After AssignTargetPass (ark-assign-target)
// CHECK: IR Dump After BeginStagePass (ark-begin-stage)
// CHECK: (ark-verify-input)
// CHECK: (ark-normalize-graph)
// CHECK: (ark-form-groups)
// CHECK: (ark-verify-graph)
// CHECK: (ark-end-stage)
// CHECK: (ark-begin-stage)
// CHECK: (ark-select-tiles)
// CHECK: (ark-tile-groups)
// CHECK: (ark-verify-tiling)
// CHECK: (ark-end-stage)
// CHECK: (ark-begin-stage)
// CHECK: (ark-bufferize-program)
// CHECK: (ark-bufferize-bodies)
// CHECK: (ark-plan-arena)
// CHECK: (ark-verify-memory)
// CHECK: (ark-end-stage)
// CHECK: (ark-begin-stage)
// CHECK: (ark-schedule)
// CHECK: (ark-verify-scheduling)
// CHECK: (ark-end-stage)
// CHECK: (ark-begin-stage)
// CHECK: (ark-insert-synchronization)
// CHECK: (ark-verify-synchronization)
// CHECK: (ark-end-stage)
// CHECK: (ark-begin-stage)
// CHECK: (ark-outline-bodies)
// CHECK: ark.body = @body_matmul
// CHECK: (ark-deduplicate-bodies)
// CHECK: (ark-build-tables)
// CHECK: ark.kernel @layer
// CHECK: (ark-build-kernel)
// CHECK: func.func @ark_kernel
// CHECK: (ark-lower-check-index)
// CHECK: (ark-verify-kernel)
// CHECK: (ark-end-stage)
// CHECK: (ark-begin-stage)
// CHECK: (ark-vectorize-contractions)
// CHECK: (ark-interchange-loops)
// CHECK: (ark-relax-reductions)
// CHECK: (convert-linalg-to-loops)
// CHECK: (ark-expand-floats)
// CHECK: (ark-expand-math)
// CHECK: (reconcile-unrealized-casts)
// CHECK: (ark-widen-booleans)
// CHECK: (ark-set-linkage)
// CHECK: (ark-end-stage)
// CHECK: ark.stage = "target"
ark.program @layer(
    %x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  ark.return %0 : tensor<64x32xf32>
}
