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
