// RUN: ark-opt %s --ark-schedule=scheduler=profile --split-input-file --verify-diagnostics

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 2, warps = 8,
    shared_memory = 0, bandwidth = 2, flops = 100, handoff = 10, barrier = 20, overhead = 100>} {
// expected-error @below {{has no measured costs for the scheduler 'profile': no task has 'ark.measured_ns'}}
ark.program @notMeasured() {
  ark.task "a" grid [1] ins() outs() {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}
}

// -----

ark.program @notATime() {
  // expected-error @below {{attribute 'ark.measured_ns' must be a time in ns, an f64, on an ark.task}}
  ark.task "a" grid [1] ins() outs() attributes {ark.measured_ns = -1.0} {
  ^bb0(%i: index):
    ark.yield
  }
  ark.return
}

// -----

// expected-error @below {{attribute 'ark.measured_ns' must be a time in ns, an f64, on an ark.task}}
ark.program @notOnATask() attributes {ark.measured_ns = 1.0} {
  ark.return
}

// -----

// expected-error @below {{attribute 'ark.growing' must be a unit, on an ark.task}}
ark.program @growingProgram() attributes {ark.growing} {
  ark.return
}
