// The sums and the result of a norm each compute a row that would take more than half of an SM's memory.
// A row of 4,000 elements of f32 takes 16,000 bytes, which is half of 32,000.

// RUN: sed s/MEMORY/31999/ %s | ark-opt --ark-decompose --ark-fuse-elementwise | FileCheck %s --check-prefix=TWICE
// RUN: sed s/MEMORY/32000/ %s | ark-opt --ark-decompose --ark-fuse-elementwise | FileCheck %s --check-prefix=ONCE

// TWICE-LABEL: ark.program @longRows
// TWICE-NOT: linalg
// TWICE: ark.row_norm
// TWICE: prologue {
// TWICE: math.exp
// TWICE: epilogue {
// TWICE-NOT: linalg
// TWICE-LABEL: ark.program @sameTypes
// TWICE-NOT: linalg
// TWICE: ark.row_norm
// TWICE: prologue {
// TWICE: math.exp
// TWICE: epilogue {
// TWICE-NOT: linalg

// ONCE-LABEL: ark.program @longRows
// ONCE: linalg.generic
// ONCE: math.exp
// ONCE: ark.row_norm
// ONCE-NOT: math.exp
// ONCE-LABEL: ark.program @sameTypes
// ONCE: linalg.generic
// ONCE: math.exp
// ONCE: ark.row_norm
// ONCE-NOT: math.exp

module attributes {ark.target = #ark.target<backend = cuda, arch = "sm_90a", sms = 2, warps = 16, shared_memory = MEMORY, bandwidth = 20, flops = 160, handoff = 200, barrier = 400, overhead = 50>} {
  ark.program @longRows(
      %x: tensor<3x4000xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<3x4000xbf16> {ark.name = "y"}) {
    %0 = ark.group "g" (%a = %x) : (tensor<3x4000xf32>) -> tensor<3x4000xbf16> {
      %1 = ark.exp %a : (tensor<3x4000xf32>) -> tensor<3x4000xf32>
      %2 = ark.rmsnorm %1 eps = 1.0e-5 : (tensor<3x4000xf32>) -> tensor<3x4000xf32>
      %3 = ark.cast %2 to bf16 : (tensor<3x4000xf32>) -> tensor<3x4000xbf16>
      ark.yield %3 : tensor<3x4000xbf16>
    }
    ark.return %0 : tensor<3x4000xbf16>
  }

  // A norm cannot read its input from its out, although both have one type.
  ark.program @sameTypes(
      %x: tensor<3x4000xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
      -> (tensor<3x4000xf32> {ark.name = "y"}) {
    %0 = ark.group "g" (%a = %x) : (tensor<3x4000xf32>) -> tensor<3x4000xf32> {
      %1 = ark.exp %a : (tensor<3x4000xf32>) -> tensor<3x4000xf32>
      %2 = ark.rmsnorm %1 eps = 1.0e-5 : (tensor<3x4000xf32>) -> tensor<3x4000xf32>
      ark.yield %2 : tensor<3x4000xf32>
    }
    ark.return %0 : tensor<3x4000xf32>
  }
}
