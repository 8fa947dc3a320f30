// Each reader recomputes a shared value that would take more than half of an SM's memory.
// A row of 4,000 elements of f32 takes 16,000 bytes, which is half of 32,000.

// RUN: sed s/MEMORY/31999/ %s | ark-opt --ark-fuse-elementwise | FileCheck %s --check-prefix=TWICE
// RUN: sed s/MEMORY/32000/ %s | ark-opt --ark-fuse-elementwise | FileCheck %s --check-prefix=ONCE
// RUN: sed 's/MEMORY/31999/; s/backend = cuda, arch = "sm_90a"/backend = cpu, arch = "host"/' %s \
// RUN:   | ark-opt --ark-fuse-elementwise | FileCheck %s --check-prefix=ONCE

// TWICE-LABEL: ark.program @rows
// TWICE-COUNT-2: math.exp
// TWICE-NOT: math.exp
// TWICE-LABEL: ark.program @rowsOfTheResult
// TWICE-COUNT-1: math.exp
// TWICE-NOT: math.exp

// ONCE-LABEL: ark.program @rows
// ONCE-COUNT-1: math.exp
// ONCE-NOT: math.exp
// ONCE-LABEL: ark.program @rowsOfTheResult
// ONCE-COUNT-1: math.exp
// ONCE-NOT: math.exp

#map = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 16, shared_memory = MEMORY, bandwidth = 20, flops = 160, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @rows(
      %x: tensor<3x4000xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<3x4000xbf16> {ark.name = "y"}) {
    %0 = ark.group "g" (%a = %x) : (tensor<3x4000xf32>) -> tensor<3x4000xbf16> {
      %e = tensor.empty() : tensor<3x4000xf32>
      %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
          ins(%a : tensor<3x4000xf32>) outs(%e : tensor<3x4000xf32>) {
      ^bb0(%in: f32, %out: f32):
        %v = math.exp %in : f32
        linalg.yield %v : f32
      } -> tensor<3x4000xf32>
      %zero = arith.constant dense<0.0> : tensor<3xf32>
      %2 = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
          ins(%1 : tensor<3x4000xf32>) outs(%zero : tensor<3xf32>) {
      ^bb0(%in: f32, %out: f32):
        %v = arith.addf %in, %out : f32
        linalg.yield %v : f32
      } -> tensor<3xf32>
      %r = tensor.empty() : tensor<3x4000xbf16>
      %3 = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
          ins(%1, %2 : tensor<3x4000xf32>, tensor<3xf32>) outs(%r : tensor<3x4000xbf16>) {
      ^bb0(%in: f32, %sum: f32, %out: bf16):
        %q = arith.divf %in, %sum : f32
        %v = arith.truncf %q : f32 to bf16
        linalg.yield %v : bf16
      } -> tensor<3x4000xbf16>
      ark.yield %3 : tensor<3x4000xbf16>
    }
    ark.return %0 : tensor<3x4000xbf16>
  }

  // A value with the type of the result is stored in the memory of the result.
  ark.program @rowsOfTheResult(
      %x: tensor<3x4000xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<3x4000xf32> {ark.name = "y"}) {
    %0 = ark.group "g" (%a = %x) : (tensor<3x4000xf32>) -> tensor<3x4000xf32> {
      %e = tensor.empty() : tensor<3x4000xf32>
      %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
          ins(%a : tensor<3x4000xf32>) outs(%e : tensor<3x4000xf32>) {
      ^bb0(%in: f32, %out: f32):
        %v = math.exp %in : f32
        linalg.yield %v : f32
      } -> tensor<3x4000xf32>
      %zero = arith.constant dense<0.0> : tensor<3xf32>
      %2 = linalg.generic {indexing_maps = [#map, #row], iterator_types = ["parallel", "reduction"]}
          ins(%1 : tensor<3x4000xf32>) outs(%zero : tensor<3xf32>) {
      ^bb0(%in: f32, %out: f32):
        %v = arith.addf %in, %out : f32
        linalg.yield %v : f32
      } -> tensor<3xf32>
      %3 = linalg.generic {indexing_maps = [#map, #row, #map], iterator_types = ["parallel", "parallel"]}
          ins(%1, %2 : tensor<3x4000xf32>, tensor<3xf32>) outs(%e : tensor<3x4000xf32>) {
      ^bb0(%in: f32, %sum: f32, %out: f32):
        %v = arith.divf %in, %sum : f32
        linalg.yield %v : f32
      } -> tensor<3x4000xf32>
      ark.yield %3 : tensor<3x4000xf32>
    }
    ark.return %0 : tensor<3x4000xf32>
  }
}
