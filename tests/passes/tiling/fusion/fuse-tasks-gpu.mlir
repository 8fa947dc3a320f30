// RUN: ark-opt %s --ark-fuse-tasks | FileCheck %s
// RUN: ark-opt %s --ark-fuse-tasks=max-ops=2 | FileCheck %s
// RUN: ark-opt %s --ark-fuse-tasks=max-ops=1 | FileCheck %s --check-prefix=MAX

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a",
  sms = 2, warps = 16, shared_memory = 262144, bandwidth = 20, flops = 160,
  handoff = 200, barrier = 400, overhead = 50>} {

// An SM executes 32 vCTAs, and computes the norm once for all of them.
// CHECK-LABEL: ark.program @oncePerWorkItem
// CHECK-NOT: ark.task "norm"
// CHECK: ark.task "norm+fc" grid [64]

// Two bodies with one structured op each.
// MAX: ark.task "norm"
// MAX: ark.task "fc"
ark.program @oncePerWorkItem(%x: tensor<4096xf32> {ark.kind = #ark.kind<input>, ark.name = "x"}, %w: tensor<4096xf32> {ark.kind = #ark.kind<parameter>, ark.name = "w"})
    -> (tensor<4096xf32> {ark.name = "y0"}) {
  %e0 = tensor.empty() : tensor<4096xf32>
  %0 = ark.task "norm" grid [1]
      ins(%x[#ark.region<(d0) -> (0), [4096]>] : tensor<4096xf32>)
      outs(%e0[#ark.region<(d0) -> (0), [4096]>] : tensor<4096xf32>)
      attributes {ops = ["rmsnorm"]} {
  ^bb0(%i: index, %a: tensor<4096xf32>, %o: tensor<4096xf32>):
    %r = linalg.exp ins(%a : tensor<4096xf32>) outs(%o : tensor<4096xf32>) -> tensor<4096xf32>
    ark.yield %r : tensor<4096xf32>
  } : tensor<4096xf32>
  %e1 = tensor.empty() : tensor<4096xf32>
  %1 = ark.task "fc" grid [64]
      ins(%0[#ark.region<(d0) -> (0), [4096]>] : tensor<4096xf32>,
          %w[#ark.region<(d0) -> (d0 * 64), [64]>] : tensor<4096xf32>)
      outs(%e1[#ark.region<(d0) -> (d0 * 64), [64]>] : tensor<4096xf32>)
      attributes {ops = ["matmul"]} {
  ^bb0(%i: index, %a: tensor<4096xf32>, %b: tensor<64xf32>, %o: tensor<64xf32>):
    %s = tensor.extract_slice %a[0] [64] [1] : tensor<4096xf32> to tensor<64xf32>
    %r = linalg.mul ins(%s, %b : tensor<64xf32>, tensor<64xf32>) outs(%o : tensor<64xf32>) -> tensor<64xf32>
    ark.yield %r : tensor<64xf32>
  } : tensor<4096xf32>
  ark.return %1 : tensor<4096xf32>
}

}
