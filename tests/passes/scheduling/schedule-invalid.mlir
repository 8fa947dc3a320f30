// RUN: ark-opt %s --split-input-file --ark-schedule --verify-diagnostics
// RUN: not ark-opt %s --ark-schedule=scheduler=fastest 2>&1 | FileCheck %s
// CHECK: error: unknown scheduler 'fastest': expected one of auto, list, profile, round-robin, rounds, overlap, alone

// expected-error @below {{'ark.program' op cannot be scheduled: its module has no 'ark.target'}}
ark.program @noTarget() {
  ark.return
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @pinIsNoRange() {
  // expected-error @below {{'ark.task' op plan pins sms to array<i64: 3, 3>, which is not a range [begin, end)}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {sms = array<i64: 3, 3>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @pinIsNoNumber() {
  // expected-error @below {{plan pins warps to "all", which is not a range}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {warps = "all"}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @tooManySms() {
  // expected-error @below {{plan pins sms to [2, 5), and the target has 4 SMs}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {sms = array<i64: 2, 5>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @tooManyWarps() {
  // expected-error @below {{plan pins warps to [0, 16), and the target has 8 warps}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {warps = array<i64: 0, 16>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @tooMuchSharedMemory() {
  // expected-error @below {{plan pins shared_memory to [0, 4096), and the target has 2048 bytes}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {shared_memory = array<i64: 0, 4096>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @lanesThatShareWarps() {
  // expected-note @below {{'a' pins warps [0, 4)}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {warps = array<i64: 0, 4>}} {
  ^bb0(%i: index):
    ark.yield
  }
  // expected-error @below {{plan pins warps to [2, 6), which share warps or shared memory with another task's lane}}
  ark.task "b" grid [1] ins() outs() attributes {plan = {warps = array<i64: 2, 6>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @laneIsTooNarrow() {
  // expected-error @below {{needs 4 warps, and its lane has 2}}
  ark.task "a" grid [1] ins() outs() attributes {warps = 4, plan = {warps = array<i64: 0, 2>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @pinnedMemoryIsTooSmall() {
  // expected-error @below {{'ark.task' op needs 512 bytes of shared memory, and its lane has 256}}
  ark.task "a" grid [1] ins() outs() attributes {shared_memory = 512, plan = {shared_memory = array<i64: 0, 256>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @noSuchRank() attributes {world_size = 2 : i64} {
  // expected-error @below {{plan names rank 2 : i64, but the program has 2 ranks}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {rank = 2 : i64}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 4, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @pinLeavesTheRank() attributes {world_size = 2 : i64} {
  // expected-error @below {{plan pins sms to [2, 5), and the target has 4 SMs}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {rank = 0 : i64, sms = array<i64: 2, 5>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.domains = array<i64: 0, 1, 2>, ark.target = #ark.target<backend = cuda, arch = "sm_90a",
    sms = 2, warps = 8, shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @tooFewSmsForCopies() attributes {world_size = 3 : i64} {
  %arena = ark.arena : memref<384xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %c256 = arith.constant 256 : index
  %s = memref.view %arena[%c0][] : memref<384xi8> to memref<3xf32>
  %d = memref.view %arena[%c128][] : memref<384xi8> to memref<3xf32>
  %e = memref.view %arena[%c256][] : memref<384xi8> to memref<3xf32>
  // expected-error @below {{is one of the copies of rank 0 to 2 ranks of other domains. Each of these ranks needs an SM, and the rank has 2 SMs}}
  ark.task "put1" grid [1] ins(%s[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>)
      outs(%d[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>) attributes {plan = {network = 1, rank = 0}} {
  ^bb0(%i: index, %a: memref<3xf32, strided<[1], offset: ?>>, %b: memref<3xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "put2" grid [1] ins(%s[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>)
      outs(%e[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>) attributes {plan = {network = 2, rank = 0}} {
  ^bb0(%i: index, %a: memref<3xf32, strided<[1], offset: ?>>, %b: memref<3xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}

// -----

module attributes {ark.domains = array<i64: 0, 1>, ark.target = #ark.target<backend = cuda, arch = "sm_90a",
    sms = 2, warps = 8, shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @pinnedToTheSmOfCopies() attributes {world_size = 2 : i64} {
  %arena = ark.arena : memref<256xi8>
  %c0 = arith.constant 0 : index
  %c128 = arith.constant 128 : index
  %s = memref.view %arena[%c0][] : memref<256xi8> to memref<3xf32>
  %d = memref.view %arena[%c128][] : memref<256xi8> to memref<3xf32>
  // expected-error @below {{plan pins sms to [1, 2), and the target has 2 SMs, of which the last 1 copy to ranks of other domains}}
  ark.task "fill" grid [1] ins() outs(%s[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>)
      attributes {plan = {rank = 0, sms = array<i64: 1, 2>}} {
  ^bb0(%i: index, %a: memref<3xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "put" grid [1] ins(%s[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>)
      outs(%d[#ark.region<(d0) -> (0), [3]>] : memref<3xf32>) attributes {plan = {network = 1, rank = 0}} {
  ^bb0(%i: index, %a: memref<3xf32, strided<[1], offset: ?>>, %b: memref<3xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
