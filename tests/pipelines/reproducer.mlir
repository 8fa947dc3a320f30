// A failing pass writes a file that reproduces the failure.
// RUN: rm -rf %t && mkdir %t
// RUN: not ark-opt %s --ark-compile-to=target '--ark-dump-dir=%t/with space' -o /dev/null \
// RUN:     '--ark-target=#ark.target<backend = hip, arch = "host", sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 160, handoff = 200, barrier = 400, overhead = 50, gpu = #ark.gpu<warp_size = 32, scopes = #ark.scopes<device = "agent">>>' \
// RUN:     --mlir-pass-pipeline-crash-reproducer=%t/failing.mlir 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: FileCheck %s --check-prefix=FILE --input-file=%t/failing.mlir
// RUN: rm -r "%t/with space"
// RUN: not ark-opt --run-reproducer %t/failing.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ERROR
// RUN: ls "%t/with space" | FileCheck %s --check-prefix=DUMPS

// With a valid target the file compiles to the end, as the flags do.
// RUN: sed -e "s/backend = hip/backend = cpu/" -e "s/, gpu = #ark.gpu<warp_size = 32, scopes = \(#ark.scopes\)\?<device = [^>]*>>//" %t/failing.mlir > %t/working.mlir
// RUN: ark-opt --run-reproducer %t/working.mlir | FileCheck %s --check-prefix=WORKS

// With a local reproducer the file begins at the failing pass.
// RUN: not ark-opt %s --ark-compile-to=target -o /dev/null --mlir-disable-threading \
// RUN:     '--ark-target=#ark.target<backend = hip, arch = "host", sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 160, handoff = 200, barrier = 400, overhead = 50, gpu = #ark.gpu<warp_size = 32, scopes = #ark.scopes<device = "agent">>>' \
// RUN:     --mlir-pass-pipeline-crash-reproducer=%t/local.mlir --mlir-pass-pipeline-local-reproducer
// RUN: FileCheck %s --check-prefix=LOCAL --input-file=%t/local.mlir
// RUN: not ark-opt --run-reproducer %t/local.mlir -o /dev/null 2>&1 | FileCheck %s --check-prefix=ERROR

// ERROR: error: has warps of 32 threads; kernels for hip need 64
// The file holds the input and every pass with its options.
// FILE: ark.program @layer
// FILE: ark.matmul
// FILE: pipeline: "builtin.module(ark-assign-target{target={#ark.target<backend = hip
// FILE-SAME: ark-begin-stage{stage=graph}
// FILE-SAME: ark-end-stage{dump-dir={{[{].+}}with space} stage=graph}
// FILE-SAME: ark-end-stage{dump-dir={{[{].+}}with space} stage=target}
// DUMPS: 01-graph.mlir
// DUMPS: 06-kernel.mlir
// WORKS: ark.stage = "target"
// WORKS: ark.kernel @layer
// WORKS: llvm.func @ark_kernel(
// LOCAL: ark.kernel @layer
// LOCAL: pipeline: "builtin.module(ark-lower-to-target{vector-elements=0})"
ark.program @layer(
    %x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  ark.return %0 : tensor<64x32xf32>
}
