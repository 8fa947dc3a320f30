// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=round-robin --ark-verify-scheduling | FileCheck %s  
// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=list --ark-verify-scheduling | FileCheck %s  

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// CHECK-LABEL: ark.program @pinnedToSms
// CHECK: ark.lane sms = [0, 1] warps = [0, 8] {
// CHECK-NEXT: ark.run "all" [0, 2]
// CHECK-NOT: pinned
// CHECK: ark.lane sms = [1, {{[24]}}] warps = [0, 8] {
// CHECK-NEXT: ark.run "all"
// CHECK-NEXT: ark.run "pinned"
ark.program @pinnedToSms(
    %x: memref<8xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<6xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "all" grid [8] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<8xf32>) {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "pinned" grid [6] ins(%x[#ark.region<(d0) -> (0), [8]>] : memref<8xf32>)
      outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<6xf32>) attributes {plan = {sms = array<i64: 1, 4>}} {
  ^bb0(%i: index, %a: memref<8xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// Tasks pinned to different warps run on concurrent lanes; tasks without a pin
// run on the widest lane that remains.
// CHECK-LABEL: ark.program @pinnedToWarps
// CHECK: ark.lane sms = [0, 2] warps = [0, 2] shared_memory = [0, 1024] {
// CHECK-NEXT: ark.run "copy" [d0 * 2, d0 * 2 + 2]
// CHECK-NEXT: }
// CHECK: ark.lane sms = [0, 2] warps = [2, 8] shared_memory = [1024, 2048] {
// CHECK-NEXT: ark.run "compute" [d0 * 2, d0 * 2 + 2]
// CHECK-NEXT: }
ark.program @pinnedToWarps(
    %x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "compute" grid [4] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<4xf32>) attributes {warps = 4} {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "copy" grid [4] ins() outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<4xf32>)
      attributes {plan = {warps = [0, 2], shared_memory = array<i64: 0, 1024>}} {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 3, warps = 8,
    shared_memory = 2048, bandwidth = 3, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// Each vCTA of the second task is on the SM that computes its input, although SM 2 has less work.
// CHECK-LABEL: ark.program @withoutSync
// CHECK-DAG: ark.run "first" [[RANGE:\[.+\]]]
// CHECK: ark.run "second" [[RANGE]]
ark.program @withoutSync(
    %x: memref<3xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<3xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "first" grid [3] ins() outs(%x[#ark.region<(d0) -> (d0), [1]>] : memref<3xf32>) attributes {plan = {sync = false}} {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "second" grid [3] ins(%x[#ark.region<(d0) -> (d0), [1]>] : memref<3xf32>)
      outs(%y[#ark.region<(d0) -> (d0), [1]>] : memref<3xf32>) attributes {plan = {sync = false}} {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>, %b: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

// The last SM of rank 0 starts copies to rank 1 in another domain. Other tasks of the rank have the other
// three SMs.
module attributes {ark.domains = array<i64: 0, 1>, ark.target = #ark.target<backend = cuda, arch = "sm_90a",
    sms = 4, warps = 8, shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// CHECK-LABEL: ark.program @copyOverNetwork
// CHECK: ark.lane sms = [0, 3] warps = [0, 8] {
// CHECK-NEXT: ark.run "fill" [d0, d0 + 1]
// CHECK-NEXT: }
// CHECK-NEXT: ark.lane sms = [3, 4] warps = [0, 8] {
// CHECK-NEXT: ark.run "put" [0, 1]
// CHECK-NEXT: }
// Rank 1 copies to no rank, and computes on all of its SMs.
// CHECK-NEXT: ark.lane sms = [4, {{[58]}}] warps = [0, 8] {
// CHECK-NEXT: ark.run "read"
ark.program @copyOverNetwork(%y: memref<3xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"})
    attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<3xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<3xf32>
  ark.task "fill" grid [3] ins() outs(%s[#ark.region<(d0) -> (d0), [1]>] : memref<3xf32>) attributes {plan = {rank = 0}} {
  ^bb0(%i: index, %a: memref<1xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>)
      outs(%d[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>) attributes {plan = {network = 1, rank = 0}} {
  ^bb0(%i: index, %a: memref<3xf32, strided<[1], offset: ?>>, %b: memref<3xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<3xf32, strided<[1], offset: ?>>) outs(%b : memref<3xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [1] ins(%d[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>)
      outs(%y[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>) attributes {plan = {rank = 1}} {
  ^bb0(%i: index, %a: memref<3xf32, strided<[1], offset: ?>>, %b: memref<3xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
