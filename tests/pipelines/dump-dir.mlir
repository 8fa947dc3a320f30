// RUN: rm -rf %t
// RUN: ark-opt %s --ark-target=cpu:2 --ark-compile-to=kernel --ark-dump-dir=%t/a/b -o /dev/null
// RUN: ls %t/a/b | FileCheck %s --check-prefix=FILES
// FILES:      01-graph.mlir
// FILES-NEXT: 02-tiling.mlir
// FILES-NEXT: 03-memory.mlir
// FILES-NEXT: 04-scheduling.mlir
// FILES-NEXT: 05-synchronization.mlir
// FILES-NEXT: 06-kernel.mlir
// FILES-NOT:  {{.}}

// A dump has locations, parses, and is valid input for the next stage.
// RUN: FileCheck %s --check-prefix=DUMP --input-file=%t/a/b/03-memory.mlir
// DUMP: ark.stage = "memory"
// DUMP: loc("model.py":3:1)
// RUN: ark-opt %t/a/b/03-memory.mlir --ark-compile-from=scheduling --ark-compile-to=kernel --ark-dump-dir=%t/c -o /dev/null
// RUN: diff %t/a/b/06-kernel.mlir %t/c/06-kernel.mlir
// RUN: ls %t/c | FileCheck %s --check-prefix=REST
// REST: 04-scheduling.mlir
// REST-NEXT: 05-synchronization.mlir
// REST-NEXT: 06-kernel.mlir

// A failure keeps the dumps of the stages before it.
// RUN: not ark-opt %s --ark-compile-to=target --ark-dump-dir=%t/d -o /dev/null \
// RUN:     '--ark-target=#ark.target<backend = hip, arch = "host", sms = 2, warps = 1, shared_memory = 262144, bandwidth = 20, flops = 160, handoff = 200, barrier = 400, overhead = 50, gpu = #ark.gpu<warp_size = 32, scopes = #ark.scopes<device = "agent">>>'
// RUN: ls %t/d | FileCheck %s --check-prefix=FAILED
// FAILED: 06-kernel.mlir
// FAILED-NOT: {{.}}

// The pass that dumps also runs alone; a path that cannot be a folder is an error.
// RUN: ark-opt %s '--ark-end-stage=stage=tiling dump-dir=%t/e' -o /dev/null
// RUN: FileCheck %s --check-prefix=ONE --input-file=%t/e/02-tiling.mlir
// ONE: ark.stage = "tiling"
// RUN: touch %t/file
// RUN: not ark-opt %s '--ark-end-stage=stage=tiling dump-dir=%t/file/folder' 2>&1 | FileCheck %s --check-prefix=NO-FOLDER
// NO-FOLDER: error: cannot create dump folder '{{.+}}folder': {{.+}}
// RUN: mkdir -p %t/f/02-tiling.mlir
// RUN: not ark-opt %s '--ark-end-stage=stage=tiling dump-dir=%t/f' 2>&1 | FileCheck %s --check-prefix=NO-FILE
// NO-FILE: error: cannot write '{{.+}}02-tiling.mlir': {{.+}}

// A full disk is an ordinary error and does not abort the process.
// RUN: mkdir -p %t/g && ln -s /dev/full %t/g/02-tiling.mlir
// RUN: not ark-opt %s '--ark-end-stage=stage=tiling dump-dir=%t/g' 2>&1 | FileCheck %s --check-prefix=FULL
// FULL-NOT: LLVM
// FULL: error: cannot write '{{.+}}02-tiling.mlir': No space left on device

ark.program @layer(
    %x: tensor<64x32xf32> {ark.kind = #ark.kind<input>, ark.name = "x"},
    %w: tensor<32x32xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<64x32xf32> {ark.name = "y"}) {
  %0 = ark.matmul %x, %w {transpose_other} : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32> loc("model.py":3:1)
  ark.return %0 : tensor<64x32xf32>
}
