// RUN: ark-opt %s --verify-diagnostics --ark-schedule-list

module attributes {ark.target = #ark.target<backend = cpu, arch = "host", sms = 1, warps = 1,
    shared_memory = 0, bandwidth = 1, flops = 100, handoff = 50, barrier = 60, overhead = 100>} {
ark.program @negativeStage(%x: memref<4xf32> {ark.kind = #ark.kind<output>, ark.name = "x"}) {
  // expected-error @below {{plan names stage -2 : i64, which is not an integer from 0 to 2147483647}}
  ark.task "fill" grid [1] ins() outs(%x[#ark.region<(d0) -> (0), [4]>] : memref<4xf32>)
      attributes {plan = {microbatch = 0 : i64, stage = -2 : i64}} {
  ^bb0(%i: index, %a: memref<4xf32, strided<[1], offset: ?>>):
    ark.yield
  }
  ark.return
}
}
