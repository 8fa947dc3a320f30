// RUN: ark-opt %s --split-input-file --verify-diagnostics

ark.program @schedule_c1(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 { ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] } }
  // expected-error @below {{is the second schedule of its program (schedule_c1)}}
  ark.schedule "b" sms = 1 { ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] } }
  ark.return
}

// -----

ark.program @schedule_c2(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{names SM 1, but the schedule has sms = 1 (schedule_c2)}}
    ark.lane sms = [0, 2] warps = [0, 1] { ark.run "t" [d0, d0 + 1] }
  }
  ark.return
}

// -----

ark.program @schedule_c2_warps(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-note @below {{the other lane}}
    ark.lane sms = [0, 1] warps = [0, 4] { ark.run "t" [0, 1] }
    // expected-error @below {{shares warps or shared memory of an SM with another lane (schedule_c2)}}
    ark.lane sms = [0, 1] warps = [3, 8] { ark.run "t" [1, 2] }
  }
  ark.return
}

// -----

ark.program @schedule_c3_missing(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-note @below {{the task}}
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-error @below {{never runs vCTA 1 of 't' (schedule_c3)}}
  ark.schedule "a" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 1] }
  }
  ark.return
}

// -----

ark.program @schedule_c3_again(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 2]
      // expected-error @below {{runs vCTA 1 of 't' again (schedule_c3)}}
      ark.run "t" [1, 2]
    }
  }
  ark.return
}

// -----

ark.program @schedule_c4(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 2]
      // expected-error @below {{names unknown semaphore '@s' (schedule_c4)}}
      ark.wait @s
    }
  }
  ark.return
}

// -----

ark.program @schedule_c4_twice(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    ark.semaphore @s arrivals = 1
    // expected-error @below {{has the name of another semaphore, '@s' (schedule_c4)}}
    ark.semaphore @s arrivals = 1
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] }
  }
  ark.return
}

// -----

ark.program @schedule_c5(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{declares 2 arrivals and is signalled 1 times (schedule_c5)}}
    ark.semaphore @s arrivals = 2
    ark.lane sms = [0, 1] warps = [0, 1] {
      ark.run "t" [0, 2]
      ark.signal @s
    }
  }
  ark.return
}

// -----

ark.program @lane_c1(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{must be ranges [begin, end) that are not empty (lane_c1)}}
    ark.lane sms = [1, 1] warps = [0, 1] { ark.run "t" [0, 2] }
  }
  ark.return
}

// -----

ark.program @semaphore_c1(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{needs a positive number of arrivals (semaphore_c1)}}
    ark.semaphore @s arrivals = 0
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] }
  }
  ark.return
}

// -----

ark.program @run_c1_unknown(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{names unknown task 'u' (run_c1)}}
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "u" [0, 2] }
  }
  ark.return
}

// -----

ark.program @run_c1_range(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{range [0, 3] on SM 0 leaves the 2 vCTAs of 't' (run_c1)}}
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 3] }
  }
  ark.return
}

// -----

ark.program @run_c1_divides_by_zero(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{range must divide by constants above zero only (run_c1)}}
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [d0 floordiv 0, 2] }
  }
  ark.return
}

// -----

ark.program @run_c1_remainder_of_zero(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{range must divide by constants above zero only (run_c1)}}
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [d0 mod 0, 2] }
  }
  ark.return
}

// -----

ark.program @prefetch_c1(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] {
      // expected-error @below {{operand 0 is not an input of 't' (prefetch_c1)}}
      ark.prefetch "t" operand = 0 [0, 2]
      ark.run "t" [0, 2]
    }
  }
  ark.return
}

// -----

ark.program @opThatIsNoScheduleItem(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    // expected-error @below {{is not allowed in a schedule}}
    %c = arith.constant 0 : index
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] }
  }
  ark.return
}

// -----

// A later work item begins at a lower vCTA than an earlier one, and both have a vCTA in common.
ark.program @schedule_c3_again_in_another_lane(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [4] ins() outs(%x[#ark.region<(d0) -> (d0 * 8), [8]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<8xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 2 {
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [2, 4] }
    ark.lane sms = [1, 2] warps = [0, 1] {
      // expected-error @below {{runs vCTA 2 of 't' again (schedule_c3)}}
      ark.run "t" [0, 3]
    }
  }
  ark.return
}

// -----

ark.program @schedule_c3_again_on_another_sm(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 2 {
    ark.lane sms = [0, 2] warps = [0, 1] {
      // expected-error @below {{runs vCTA 0 of 't' again (schedule_c3)}}
      ark.run "t" [0, d0 + 1]
    }
  }
  ark.return
}

// -----

ark.program @schedule_c6(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  ark.task "t" grid [2] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  // expected-error @below {{has sms = 65537; expected 1 to 65536 (schedule_c6)}}
  ark.schedule "a" sms = 65537 {
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] }
  }
  ark.return
}

// -----

// The schedule is verified before the task, and leaves the error in the grid to the task's verifier.
ark.program @gridIsNegative(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-error @below {{needs a positive grid, positive warps and shared memory of zero or more (task_c5)}}
  ark.task "t" grid [-1] ins() outs(%x[#ark.region<(d0) -> (d0 * 16), [16]>] : memref<32xf32>) {
  ^bb0(%i: index, %b: memref<16xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] }
  }
  ark.return
}

// -----

ark.program @gridOverflows(%x: memref<32xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-error @below {{has more than 4194304 vCTAs (task_c5)}}
  ark.task "t" grid [4294967296, 4294967296] ins()
      outs(%x[#ark.region<(d0, d1) -> (0), [32]>] : memref<32xf32>) {
  ^bb0(%i: index, %j: index, %b: memref<32xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.schedule "a" sms = 1 {
    ark.lane sms = [0, 1] warps = [0, 1] { ark.run "t" [0, 2] }
  }
  ark.return
}
