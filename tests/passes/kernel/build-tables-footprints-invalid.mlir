// RUN: ark-opt %s --split-input-file --ark-build-tables --verify-diagnostics -o /dev/null

// The body expects dense rows.
module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @otherLayout(%s: memref<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
    // expected-error @below {{operand 0 does not have the layout that its body '@body_fill' takes}}
    ark.task "fill" grid [4] ins()
        outs(%s[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<4x4xf32>) attributes {ark.body = @body_fill} {
    ^bb0(%i: index, %b: memref<1x4xf32, strided<[4, 1], offset: ?>>):
      ark.yield
    }
    ark.schedule "hand" sms = 1 {
      ark.semaphore @end arrivals = 1
      ark.lane sms = [0, 1] warps = [0, 1] {
        ark.run "fill" [0, 4]
        ark.barrier @end
      }
    }
    ark.return
  }
  func.func private @body_fill(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
                               %s: memref<4x4xf32, strided<[8, 1]>>) {
    return
  }
}

// -----

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1,
    shared_memory = 0, bandwidth = 20, flops = 100, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @outsideOfTheBuffer(%s: memref<4x4xf32> {ark.kind = #ark.kind<state>, ark.name = "s"}) {
    %0 = memref.reinterpret_cast %s to offset: [4], sizes: [4, 4], strides: [4, 1]
        : memref<4x4xf32> to memref<4x4xf32, strided<[4, 1], offset: 4>>
    // expected-error @below {{operand 0 leaves its buffer of 64 bytes}}
    ark.task "fill" grid [4] ins()
        outs(%0[#ark.region<(d0) -> (d0, 0), [1, 4]>] : memref<4x4xf32, strided<[4, 1], offset: 4>>) attributes {ark.body = @body_fill} {
    ^bb0(%i: index, %b: memref<1x4xf32, strided<[4, 1], offset: ?>>):
      ark.yield
    }
    ark.schedule "hand" sms = 1 {
      ark.semaphore @end arrivals = 1
      ark.lane sms = [0, 1] warps = [0, 1] {
        ark.run "fill" [0, 4]
        ark.barrier @end
      }
    }
    ark.return
  }
  func.func private @body_fill(%begin: index, %end: index, %task: index, %status: memref<4xi64>,
                               %s: memref<4x4xf32>) {
    return
  }
}
