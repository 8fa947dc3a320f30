// Every stage ends in the form that docs/architecture.md describes.
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=graph | FileCheck %s --check-prefix=GRAPH
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=tiling | FileCheck %s --check-prefix=TILING
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=memory | FileCheck %s --check-prefix=MEMORY
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=scheduling | FileCheck %s --check-prefix=SCHEDULING
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=synchronization | FileCheck %s --check-prefix=SYNCHRONIZATION
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=kernel | FileCheck %s --check-prefix=KERNEL
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=target -o %t.whole
// RUN: FileCheck %s --check-prefix=TARGET --input-file=%t.whole

// Both spellings run one pipeline; the last stage is the default.
// RUN: ark-opt %s '--ark-compile=target=cpu:2' -o %t.options
// RUN: diff %t.whole %t.options

// Single stages, with text in between, give the same result as one run.
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=graph --mlir-print-debuginfo \
// RUN:   | ark-opt --ark-compile-from=tiling --ark-compile-to=tiling --mlir-print-debuginfo \
// RUN:   | ark-opt --ark-compile-from=memory --ark-compile-to=memory --mlir-print-debuginfo \
// RUN:   | ark-opt --ark-compile-from=scheduling --ark-compile-to=scheduling --mlir-print-debuginfo \
// RUN:   | ark-opt --ark-compile-from=synchronization --ark-compile-to=synchronization --mlir-print-debuginfo \
// RUN:   | ark-opt --ark-compile-from=kernel --ark-compile-to=kernel --mlir-print-debuginfo \
// RUN:   | ark-opt --ark-compile-from=target --ark-compile-to=target -o %t.stages
// RUN: diff %t.whole %t.stages

// The pipeline passes its options on to the stages.
// RUN: ark-opt %s --ark-target=cpu:2 --ark-scheduler=round-robin --ark-compile-to=scheduling | FileCheck %s --check-prefix=SCHEDULER
// RUN: ark-opt %s '--ark-compile=target=cpu:2 to=scheduling scheduler=round-robin' | FileCheck %s --check-prefix=SCHEDULER
// RUN: ark-opt %s --ark-target=cpu:2 --ark-trace --ark-compile-to=kernel | FileCheck %s --check-prefix=TRACE
// RUN: ark-opt %s '--ark-compile=target=cpu:2 to=kernel trace=true' | FileCheck %s --check-prefix=TRACE
// RUN: ark-opt %s '--ark-compile=target=cpu:2 vector-elements=4' | FileCheck %s --check-prefix=LANES
// RUN: ark-opt %s --ark-compile-to=synchronization --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=PROOF
// RUN: ark-opt %s --ark-compile-to=synchronization --ark-verify-schedule=false --dump-pass-pipeline -o /dev/null 2>&1 | FileCheck %s --check-prefix=NO-PROOF

// GRAPH: module attributes {ark.stage = "graph", ark.target = #ark.target<backend = cpu, arch = "host", sms = 2,
// GRAPH: ark.group "fc1"
// GRAPH: ark.group "fc2"
// TILING: ark.stage = "tiling"
// TILING: ark.task "fc1" {{.+}} : tensor<
// TILING-NOT: ark.group
// MEMORY: ark.stage = "memory"
// MEMORY: ark.arena
// MEMORY: ark.task "fc1" {{.+}} : memref<
// MEMORY-NOT: {{ark.schedule|tensor<}}
// SCHEDULING: ark.stage = "scheduling"
// SCHEDULING: ark.schedule "list" sms = 2
// SCHEDULING-NOT: {{ark.semaphore|ark.barrier}}
// SYNCHRONIZATION: ark.stage = "synchronization"
// SYNCHRONIZATION: ark.schedule "list" sms = 2
// SYNCHRONIZATION: ark.barrier @end
// KERNEL: ark.stage = "kernel"
// KERNEL: ark.kernel @mlp
// KERNEL-DAG: func.func private @body_matmul_relu(
// KERNEL-DAG: func.func @ark_kernel(
// KERNEL-NOT: ark.program
// TARGET: ark.stage = "target"
// TARGET: ark.kernel @mlp
// TARGET-NOT: {{func.func|memref\.|scf\.|arith\.|vector\.|builtin.unrealized}}
// TARGET: llvm.func internal @body_matmul_relu(
// TARGET-NOT: {{func.func|memref\.|scf\.|arith\.|vector\.|builtin.unrealized}}
// TARGET: llvm.func @ark_kernel(
// TARGET-NOT: {{func.func|memref\.|scf\.|arith\.|vector\.|builtin.unrealized}}
// SCHEDULER: ark.schedule "round-robin"
// TRACE: func.func private @ark_traced() -> i1
// TRACE-NEXT: arith.constant true
// LANES-NOT: vector<{{8|16}}xf32>
// LANES: vector<4xf32>
// LANES-NOT: vector<{{8|16}}xf32>
// PROOF: ark-insert-synchronization
// PROOF: ark-verify-synchronization
// NO-PROOF: ark-insert-synchronization
// NO-PROOF-NOT: ark-verify-synchronization
ark.program @mlp(
    %x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w1: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w1"},
    %w2: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w2"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w1 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32> loc("fc1")
  %1 = ark.relu %0 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  %2 = ark.matmul %1, %w2 {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32> loc("fc2")
  %3 = ark.relu %2 : (tensor<64x32xf32>) -> tensor<64x32xf32>
  ark.return %3 : tensor<64x32xf32>
}
