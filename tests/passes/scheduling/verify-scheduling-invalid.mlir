// RUN: ark-opt %s --split-input-file --ark-verify-scheduling --verify-diagnostics

// expected-error @below {{'ark.program' op has no schedule}}
ark.program @noSchedule() {
  ark.return
}

// -----

// expected-error @below {{is scheduled without a target: its module has no 'ark.target'}}
ark.program @noTarget() {
  ark.schedule "hand" sms = 1 {
  }
  ark.return
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @moreSmsThanTheTarget() {
  // expected-error @below {{uses 3 SMs, and the target has 2}}
  ark.schedule "hand" sms = 3 {
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @moreWarpsThanTheTarget() {
  ark.schedule "hand" sms = 2 {
    // expected-error @below {{uses warps up to 16, and the target has 8}}
    ark.lane sms = [0, 1] warps = [8, 16] {
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @moreSharedMemoryThanTheTarget() {
  ark.schedule "hand" sms = 2 {
    // expected-error @below {{uses shared memory up to 4096, and the target has 2048 bytes}}
    ark.lane sms = [0, 1] warps = [0, 8] shared_memory = [0, 4096] {
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @laneIsTooNarrow() {
  // expected-note @below {{the task}}
  ark.task "a" grid [1] ins() outs() attributes {warps = 4} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 2] {
      // expected-error @below {{needs 4 warps, and the lane has 2}}
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @tooLittleSharedMemory() {
  // expected-note @below {{the task}}
  ark.task "a" grid [1] ins() outs() attributes {shared_memory = 1024} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 2] shared_memory = [0, 512] {
      // expected-error @below {{needs 1024 bytes of shared memory, and the lane has 512}}
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @onAnSmThatThePlanForbids() {
  // expected-note @below {{the task}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {sms = array<i64: 1, 2>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.lane sms = [0, 1] warps = [0, 8] {
      // expected-error @below {{runs on SM 0, and the plan pins sms to [1, 2)}}
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @onWarpsThatThePlanForbids() {
  // expected-note @below {{the task}}
  ark.task "a" grid [1] ins() outs() attributes {plan = {warps = array<i64: 0, 4>}} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.lane sms = [0, 1] warps = [4, 8] {
      // expected-error @below {{runs on warps [4, 8), and the plan pins [0, 4)}}
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @prefetchOfAnInput(%x: memref<4xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}) {
  ark.task "a" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs() {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.lane sms = [0, 1] warps = [0, 8] {
      // expected-error @below {{operand 0 of 'a' is not bound to a parameter (prefetch_c1)}}
      ark.prefetch "a" operand = 0 [0, 1]
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @consumerBeforeProducer(%x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs() {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 8] {
      // expected-error @below {{can never run: the order of the lanes contradicts the dependences}}
      // expected-note @below {{'b' [0, 1) on SM 0 needs 'a' [0, 1) on SM 0}}
      ark.run "b" [0, 1]
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}

// -----

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 4, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
ark.program @cycleOverTwoLanes(
    %x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"},
    %y: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "y"}) {
  ark.task "a" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "b" grid [1] ins(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs() {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "c" grid [1] ins() outs(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.task "d" grid [1] ins(%y[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>) outs() {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "hand" sms = 2 {
    ark.lane sms = [0, 1] warps = [0, 8] {
      // expected-error @below {{can never run: the order of the lanes contradicts the dependences}}
      // expected-note @below {{'b' [0, 1) on SM 0 needs 'a' [0, 1) on SM 1}}
      ark.run "b" [0, 1]
      ark.run "c" [0, 1]
    }
    ark.lane sms = [1, 2] warps = [0, 8] {
      // expected-note @below {{'d' [0, 1) on SM 1 needs 'c' [0, 1) on SM 0}}
      ark.run "d" [0, 1]
      ark.run "a" [0, 1]
    }
  }
  ark.return
}
}
