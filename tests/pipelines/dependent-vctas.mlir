// RUN: ark-opt %s --ark-compile-from=scheduling --ark-compile-to=synchronization --ark-target=cpu:2 | FileCheck %s --check-prefix=RUNS
// RUN: ark-opt %s --ark-compile-from=scheduling --ark-compile-to=synchronization --ark-target=cuda:sm_90a | FileCheck %s --check-prefix=RUNS
// RUN: ark-opt %s --ark-compile-from=scheduling --ark-compile-to=target --ark-target=cpu:2 -o /dev/null
// RUN: ark-opt %s --ark-compile-from=scheduling --ark-compile-to=target --ark-target=cuda:sm_90a -o /dev/null
// RUN: sed 's@// TOGETHER@@' %s > %t.mlir
// RUN: not ark-opt %t.mlir --ark-compile-from=scheduling --ark-compile-to=target --ark-target=cpu:2 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: not ark-opt %t.mlir --ark-compile-from=scheduling --ark-compile-to=target --ark-target=cuda:sm_90a 2>&1 | FileCheck %s --check-prefix=REFUSED

// Lowerings for GPUs execute the vCTAs of a work item concurrently. Hence the scheduler puts vCTAs that
// depend on each other into separate work items, and the proof refuses a schedule that has them in one.
// Both hold for all targets, so that a schedule has one meaning everywhere.

// RUNS: ark.run "shift" [0, 1]
// RUNS-NEXT: ark.run "shift" [1, 2]
// RUNS-NEXT: ark.run "shift" [2, 3]
// RUNS-NEXT: ark.run "shift" [3, 4]

// REFUSED: RAW hazard: vCTA 1 of 'shift' on SM 0 reads bytes [16, 32) of 's' in the same work item as vCTA 0 of 'shift' on SM 0, which writes them
ark.program @shift(%s: memref<20xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
  ark.task "shift" grid [4] ins(%s[#ark.region<(d0) -> (d0 * 4), [4]>] : memref<20xf32>) outs(%s[#ark.region<(d0) -> (d0 * 4 + 4), [4]>] : memref<20xf32>) attributes {in_place} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>, %o: memref<4xf32, strided<[1], offset: ?>>):
    %one = arith.constant 1.0 : f32
    linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%a : memref<4xf32, strided<[1], offset: ?>>) outs(%o : memref<4xf32, strided<[1], offset: ?>>) {
    ^bb0(%in: f32, %out: f32):
      %0 = arith.addf %in, %one : f32
      linalg.yield %0 : f32
    }
    ark.yield
  }
  // TOGETHER ark.schedule "hand" sms = 1 { ark.lane sms = [0, 1] warps = [0, 8] { ark.run "shift" [0, 4] } }
  ark.return
}
