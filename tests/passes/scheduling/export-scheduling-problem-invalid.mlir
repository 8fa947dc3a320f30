// RUN: ark-opt %s --ark-export-scheduling-problem="file=%t.json max-vctas=3" --split-input-file --verify-diagnostics

// expected-error @below {{cannot be scheduled: its module has no 'ark.target'}}
ark.program @noTarget() {
  ark.return
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 8,
    shared_memory = 2048, bandwidth = 2, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// expected-error @below {{has 4 vCTAs, too many for an exact solution: at most 3}}
ark.program @tooLarge() {
  ark.task "a" grid [4] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}
