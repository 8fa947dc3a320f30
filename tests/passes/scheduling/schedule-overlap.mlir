// RUN: ark-opt %s --split-input-file --ark-schedule=scheduler=overlap --ark-verify-scheduling | FileCheck %s
// RUN: ark-opt %s --split-input-file --ark-schedule | FileCheck %s --check-prefix=AUTO

// Rank 0 sends 8 MiB to rank 1 while it computes. Half of the SMs of rank 0 send; the others compute.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 16, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
// CHECK-LABEL: ark.program @send
// CHECK: ark.schedule "overlap" sms = 32
// CHECK: ark.lane sms = [0, 8] warps = [0, 16] {
// CHECK-NEXT: ark.run "put"
// CHECK-NEXT: }
// CHECK-NEXT: ark.lane sms = [8, 16] warps = [0, 16] {
// CHECK-NEXT: ark.run "compute"
// CHECK-NEXT: }
// The receiver has nothing to compute, so all of its SMs read.
// CHECK: ark.lane sms = [16, 32]
// CHECK-NEXT: ark.run "read"
// The copy needs half of the SMs for the whole bandwidth, so auto keeps the other half for the put.
// AUTO-LABEL: ark.program @send
// AUTO: ark.schedule "overlap" sms = 32
// AUTO: ark.lane sms = [0, 8] warps = [0, 16] {
// AUTO-NEXT: ark.run "put"
// AUTO-NEXT: }
// AUTO-NEXT: ark.lane sms = [8, 16] warps = [0, 16] {
// AUTO-NEXT: ark.run "compute"
// AUTO-NEXT: }
ark.program @send(
    %x: memref<2097152xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"},
    %w: memref<33554432xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/w"},
    %z: memref<33554432xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/z"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<16777216xi8>
  %offset = arith.constant 8388608 : index
  %p = memref.view %arena[%offset][] : memref<16777216xi8> to memref<2097152xf32>
  ark.task "compute" grid [256] ins(%w[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) outs(%z[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<131072xf32, strided<[1], offset: ?>>, %b: memref<131072xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<131072xf32, strided<[1], offset: ?>>) outs(%b : memref<131072xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "put" grid [64] ins(%x[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [64] ins(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%y[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// The put takes 4 % of the time of the copy. Auto keeps no SMs for a gain of less than 5 %.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 16, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
// CHECK-LABEL: ark.program @long
// CHECK: ark.schedule "overlap" sms = 32
// AUTO-LABEL: ark.program @long
// AUTO: ark.schedule "list" sms = 32
// AUTO: ark.lane sms = [0, 16]
ark.program @long(
    %x: memref<2097152xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"},
    %w: memref<335544320xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/w"},
    %z: memref<335544320xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/z"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<16777216xi8>
  %offset = arith.constant 8388608 : index
  %p = memref.view %arena[%offset][] : memref<16777216xi8> to memref<2097152xf32>
  ark.task "compute" grid [2560] ins(%w[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<335544320xf32>) outs(%z[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<335544320xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<131072xf32, strided<[1], offset: ?>>, %b: memref<131072xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<131072xf32, strided<[1], offset: ?>>) outs(%b : memref<131072xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "put" grid [64] ins(%x[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [64] ins(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%y[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// A program of one rank has no exchange: the lanes are those of the list scheduler.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 16, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
// CHECK-LABEL: ark.program @alone
// CHECK: ark.lane sms = [0, 16]
// CHECK-NEXT: ark.run "compute"
// AUTO-LABEL: ark.program @alone
// AUTO: ark.schedule "list"
ark.program @alone(
    %w: memref<33554432xf32> {ark.kind = #ark.kind<input>, ark.name = "w"},
    %z: memref<33554432xf32> {ark.kind = #ark.kind<output>, ark.name = "z"}) {
  ark.task "compute" grid [256] ins(%w[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) outs(%z[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) {
  ^bb0(%i: index, %a: memref<131072xf32, strided<[1], offset: ?>>, %b: memref<131072xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<131072xf32, strided<[1], offset: ?>>) outs(%b : memref<131072xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// A plan limits the SMs of the put, and computations leave these SMs.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 16, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
// CHECK-LABEL: ark.program @pinned
// CHECK: ark.schedule "overlap" sms = 32
// CHECK: ark.lane sms = [0, 8] warps = [0, 16] {
// CHECK-NEXT: ark.run "put"
// CHECK-NEXT: }
// CHECK-NEXT: ark.lane sms = [8, 16] warps = [0, 16] {
// CHECK-NEXT: ark.run "compute"
// CHECK-NEXT: }
// The receiver has nothing to compute, so all of its SMs read.
// CHECK: ark.lane sms = [16, 32]
// CHECK-NEXT: ark.run "read"
// AUTO-LABEL: ark.program @pinned
// AUTO: ark.schedule "overlap"
ark.program @pinned(
    %x: memref<2097152xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"},
    %w: memref<33554432xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/w"},
    %z: memref<33554432xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/z"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<16777216xi8>
  %offset = arith.constant 8388608 : index
  %p = memref.view %arena[%offset][] : memref<16777216xi8> to memref<2097152xf32>
  ark.task "compute" grid [256] ins(%w[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) outs(%z[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<131072xf32, strided<[1], offset: ?>>, %b: memref<131072xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<131072xf32, strided<[1], offset: ?>>) outs(%b : memref<131072xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "put" grid [64] ins(%x[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 0 : i64, sms = [0, 8]}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [64] ins(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%y[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}

// -----

// Computations leave the SMs of the plan, wherever they are.
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 16, warps = 16,
    shared_memory = 232448, bandwidth = 4800, flops = 60000, handoff = 1000, barrier = 1600, overhead = 300>} {
// CHECK-LABEL: ark.program @pinnedAtTheEnd
// CHECK: ark.schedule "overlap" sms = 32
// CHECK: ark.lane sms = [0, 8] warps = [0, 16] {
// CHECK-NEXT: ark.run "compute"
// CHECK-NEXT: }
// CHECK-NEXT: ark.lane sms = [8, 16] warps = [0, 16] {
// CHECK-NEXT: ark.run "put"
// CHECK-NEXT: }
// The receiver has nothing to compute, so all of its SMs read.
// CHECK: ark.lane sms = [16, 32]
// CHECK-NEXT: ark.run "read"
// AUTO-LABEL: ark.program @pinnedAtTheEnd
// AUTO: ark.schedule "overlap"
ark.program @pinnedAtTheEnd(
    %x: memref<2097152xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/x"},
    %y: memref<2097152xf32> {ark.kind = #ark.kind<output>, ark.name = "rank1/y"},
    %w: memref<33554432xf32> {ark.kind = #ark.kind<input>, ark.name = "rank0/w"},
    %z: memref<33554432xf32> {ark.kind = #ark.kind<output>, ark.name = "rank0/z"}) attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<16777216xi8>
  %offset = arith.constant 8388608 : index
  %p = memref.view %arena[%offset][] : memref<16777216xi8> to memref<2097152xf32>
  ark.task "compute" grid [256] ins(%w[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) outs(%z[#ark.region<(d0) -> (d0 * 131072), [131072]>] : memref<33554432xf32>) attributes {plan = {rank = 0 : i64}} {
  ^bb0(%i: index, %a: memref<131072xf32, strided<[1], offset: ?>>, %b: memref<131072xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<131072xf32, strided<[1], offset: ?>>) outs(%b : memref<131072xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "put" grid [64] ins(%x[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 0 : i64, sms = [8, 16]}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.task "read" grid [64] ins(%p[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) outs(%y[#ark.region<(d0) -> (d0 * 32768), [32768]>] : memref<2097152xf32>) attributes {plan = {rank = 1 : i64}} {
  ^bb0(%i: index, %a: memref<32768xf32, strided<[1], offset: ?>>, %b: memref<32768xf32, strided<[1], offset: ?>>):
    linalg.copy ins(%a : memref<32768xf32, strided<[1], offset: ?>>) outs(%b : memref<32768xf32, strided<[1], offset: ?>>)
    ark.yield
  }
  ark.return
}
}
